"""Download clients that were replaced by something hostile, and names that mean everything."""

import asyncio
import gzip
import json
import time
import tracemalloc
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import orjson
import pytest

from headwater.anime.download_clients.connection import MOST_ANSWER_BYTES, DownloadClientConfig
from headwater.anime.download_clients.open_client import open_download_client
from headwater.anime.downloads.ports import (
    ClientDown,
    ClientRefused,
    DownloadClient,
    NewClientTorrent,
)
from headwater.web.limits import WebLimits
from tests.support.scripted_qbittorrent import USER, V4_5, V5_2, Dialect, ScriptedQBittorrent
from tests.support.webhook_receiver import Answer, Receiver, Reply, answer

KINDS = ("qbittorrent", "transmission", "aria2")
HASH = "0123456789abcdef0123456789abcdef01234567"
PASSWORD = "do-not-tell-anybody"
PAGE = b"<!doctype html><title>Router login</title><form action=/login></form>"

kinds = pytest.mark.parametrize("kind", KINDS)


@asynccontextmanager
async def a_client(
    kind: str, *answers: Answer, deadline: float = 5.0, limits: WebLimits | None = None
) -> AsyncIterator[tuple[DownloadClient, Receiver]]:
    async with Receiver() as place:
        place.answers = list(answers)
        url = f"http://127.0.0.1:{place.port}"
        plan = DownloadClientConfig(kind, url, "keeper", PASSWORD, deadline=deadline)
        downloader = open_download_client(plan, limits or WebLimits(), "Headwater/test")
        yield downloader, place
        await downloader.close()


def logged_in() -> bytes:
    return answer(200, b"Ok.", Set_Cookie="SID=abc; path=/")


def rpc(kind: str, listed: object) -> bytes:
    return answer(200, orjson.dumps(shaped(kind, listed)))


def shaped(kind: str, listed: object) -> object:
    """An answer of the right shape, with this list of torrents in it."""
    if kind == "qbittorrent":
        return listed
    if kind == "transmission":
        return {"result": "success", "arguments": {"torrents": listed}}
    return {"id": "headwater", "result": listed}


def says(kind: str, *answers: Answer) -> list[Answer]:
    """Behind a login, where there is one."""
    return [logged_in(), *answers] if kind == "qbittorrent" else list(answers)


@kinds
@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_a_redirect_is_not_followed_and_nobody_gets_the_password(
    kind: str, status: int
) -> None:
    async with Receiver() as thief:
        thief.answers = [logged_in()]
        to_thief = answer(status, Location=f"http://127.0.0.1:{thief.port}/api/v2/auth/login")
        async with a_client(kind, to_thief) as (downloader, place):
            with pytest.raises(ClientDown, match="send us elsewhere"):
                await downloader.version()
            assert len(place.messages) == 1
        assert thief.connections == 0


@kinds
@pytest.mark.parametrize("status", [200, 401, 403, 404, 500, 502])
async def test_a_page_for_people_is_a_client_that_is_down(kind: str, status: int) -> None:
    async with a_client(kind, answer(status, PAGE, Content_Type="text/html")) as (downloader, _):
        for asked in every_call(downloader):
            with pytest.raises(ClientDown) as told:
                await asked()
            assert PASSWORD not in str(told.value)


@kinds
async def test_a_page_for_people_behind_the_login_is_a_client_that_is_down(kind: str) -> None:
    async with a_client(kind, *says(kind, answer(200, PAGE))) as (downloader, _):
        for asked in every_call(downloader):
            with pytest.raises(ClientDown):
                await asked()


async def test_a_cookie_with_a_page_for_people_is_no_login() -> None:
    page = answer(200, PAGE, Set_Cookie="PHPSESSID=1")
    async with a_client("qbittorrent", page) as (downloader, place):
        with pytest.raises(ClientDown, match="user name and password"):
            await downloader.list_torrents([HASH])
        assert len(place.messages) == 1


async def test_a_login_that_fails_with_success_is_no_login() -> None:
    said = answer(200, b"Fails.", Set_Cookie="SID=abc")
    async with a_client("qbittorrent", said) as (downloader, _):
        with pytest.raises(ClientDown, match="user name and password"):
            await downloader.version()


@kinds
async def test_a_list_without_an_end_is_cut_and_kept_nowhere(kind: str) -> None:
    piece = b'{"hash":"' + b"f" * 65_000 + b'"},'

    async def endless(reply: Reply) -> None:
        await reply.say(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n[")
        await reply.say_for_ever(piece)

    async with a_client(kind, *says(kind, endless)) as (downloader, place):
        tracemalloc.start()
        with pytest.raises(ClientDown):
            await downloader.list_torrents([HASH])
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert place.replies[-1].sent < 2 * MOST_ANSWER_BYTES
        assert most < 3 * MOST_ANSWER_BYTES


@kinds
async def test_a_length_of_ten_gigabytes_is_not_waited_for(kind: str) -> None:
    head = b"HTTP/1.1 200 OK\r\nContent-Length: 10737418240\r\n\r\n["
    async with a_client(kind, *says(kind, head), deadline=60.0) as (downloader, _):
        began = time.monotonic()
        with pytest.raises(ClientDown):
            await downloader.list_torrents([HASH])
        assert time.monotonic() - began < 5


@kinds
async def test_what_was_not_asked_to_be_packed_is_not_unpacked(kind: str) -> None:
    bomb = gzip.compress(b"[" + b" " * 64 * 1024 * 1024 + b"]")
    packed = answer(200, bomb, Content_Encoding="gzip")
    async with a_client(kind, *says(kind, packed)) as (downloader, _):
        with pytest.raises(ClientDown):
            await downloader.list_torrents([HASH])


@kinds
async def test_a_client_that_hangs_is_given_up_in_time(kind: str) -> None:
    async def silent(reply: Reply) -> None:
        await reply.say_for_ever(b"", 0.05)

    async with a_client(kind, silent, deadline=0.5) as (downloader, _):
        began = time.monotonic()
        with pytest.raises(ClientDown):
            await downloader.version()
        assert time.monotonic() - began < 3


async def test_a_client_may_be_slower_than_a_feed() -> None:
    async def slow(reply: Reply) -> None:
        await asyncio.sleep(0.2)
        await reply.say(answer(200, b'{"id": "headwater", "result": {"version": "1.36.0"}}'))

    impatient = WebLimits(first_byte=0.05, idle=0.05)
    async with a_client("aria2", slow, limits=impatient) as (downloader, _):
        assert await downloader.version() == "aria2 1.36.0"


@kinds
async def test_a_client_that_drips_is_given_up_in_time(kind: str) -> None:
    async def drip(reply: Reply) -> None:
        await reply.say(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
        await reply.say_for_ever(b" ", 0.02)

    async with a_client(kind, drip, deadline=0.5) as (downloader, _):
        began = time.monotonic()
        with pytest.raises(ClientDown):
            await downloader.version()
        assert time.monotonic() - began < 3


ODD_LISTS: list[object] = [
    None,
    {},
    "torrents",
    7,
    [None],
    [[]],
    ["text"],
    [{}],
    [{"hash": 5, "hashString": 5, "infoHash": HASH, "status": []}],
]


@kinds
@pytest.mark.parametrize("listed", ODD_LISTS, ids=repr)
async def test_a_list_of_another_shape_is_a_client_that_is_down(kind: str, listed: object) -> None:
    if kind == "aria2" and listed == [{}]:
        pytest.skip("a download without a hash is no torrent, and so none of ours")
    async with a_client(kind, *says(kind, rpc(kind, listed))) as (downloader, _):
        with pytest.raises(ClientDown):
            await downloader.list_torrents([HASH])


FIGURES = ["nan", "inf", "-inf", "1e999", -5, 10**30, "", None, [], "0x10"]


def torrent_of(kind: str, figure: object) -> dict[str, object]:
    if kind == "qbittorrent":
        said = {"hash": HASH, "name": "x", "state": "uploading", "save_path": "/", "tags": ""}
        return said | {"progress": figure, "size": figure}
    if kind == "transmission":
        figures = {"percentDone": figure, "leftUntilDone": 1, "totalSize": figure, "status": 4}
        words = {"hashString": HASH, "name": "x", "downloadDir": "/", "errorString": ""}
        return {**words, **figures, "error": 0, "metadataPercentComplete": 1, "labels": []}
    said = {"infoHash": HASH, "status": "active", "dir": "/", "gid": "1"}
    return {**said, "totalLength": figure, "completedLength": figure}


@kinds
@pytest.mark.parametrize("figure", FIGURES, ids=repr)
async def test_figures_that_are_none_never_come_through(kind: str, figure: object) -> None:
    """Either the client is not itself, or what comes through can be counted with."""
    written = json.dumps(shaped(kind, [torrent_of(kind, figure)])).encode()
    async with a_client(kind, *says(kind, answer(200, written))) as (downloader, _):
        try:
            jobs = await downloader.list_torrents([HASH])
        except ClientDown:
            return
        assert 0 <= jobs[HASH].progress <= 1


@kinds
async def test_words_of_a_client_are_short_and_without_controls(kind: str) -> None:
    said = torrent_of(kind, 1)
    loud = "\x00\x1b[31m" + "z" * 100_000
    said |= {"state": loud, "errorString": loud, "errorMessage": loud}
    async with a_client(kind, *says(kind, rpc(kind, [said]))) as (downloader, _):
        detail = (await downloader.list_torrents([HASH]))[HASH].detail
    assert len(detail) <= 200
    assert detail.isprintable()


@kinds
async def test_torrents_that_nobody_asked_for_are_nobodys(kind: str) -> None:
    other = torrent_of(kind, 1) | dict.fromkeys(("hash", "hashString", "infoHash"), "f" * 40)
    async with a_client(kind, *says(kind, rpc(kind, [other]))) as (downloader, _):
        assert await downloader.list_torrents([HASH]) == {}
        assert await downloader.remove(HASH, with_files=True) is False


async def test_a_list_that_always_has_a_next_page_ends() -> None:
    full = [{"infoHash": f"{number:040x}", "status": "complete"} for number in range(1_000)]
    async with a_client("aria2", rpc("aria2", full)) as (downloader, place):
        assert await downloader.list_torrents([HASH]) == {}
        assert len(place.messages) <= 50


NAMES = [
    "all",
    "",
    "*",
    HASH[:39],
    HASH + "0",
    HASH.upper(),
    f"{HASH}|all",
    f"{HASH}\n",
    "recently-active",
]


@kinds
@pytest.mark.parametrize("name", NAMES)
async def test_a_name_that_is_no_whole_hash_reaches_no_client(kind: str, name: str) -> None:
    async with a_client(kind, *says(kind, rpc(kind, []))) as (downloader, place):
        for asked in (
            lambda: downloader.remove(name, with_files=True),
            lambda: downloader.files(name),
            lambda: downloader.list_torrents([HASH, name]),
            lambda: downloader.add(NewClientTorrent(name, "/downloads", b"d4:infodee")),
        ):
            with pytest.raises(ClientRefused, match="names no torrent"):
                await asked()
        assert place.connections == 0


@pytest.mark.parametrize("dialect", [V4_5, V5_2], ids=["4.5", "5.2"])
async def test_only_what_bears_our_tag_can_be_removed(dialect: Dialect) -> None:
    async with ScriptedQBittorrent(dialect) as client:
        client.hold(HASH, name="Show - 01.mkv", tags="")
        plan = DownloadClientConfig("qbittorrent", client.url, USER, client.password)
        downloader = open_download_client(plan, WebLimits(), "Headwater/test")
        with pytest.raises(ClientRefused):
            await downloader.remove(HASH, with_files=True)
        await downloader.close()
        assert (list(client.torrents), client.deleted) == ([HASH], [])


def every_call(downloader: DownloadClient) -> list[Callable[[], Awaitable[object]]]:
    job = NewClientTorrent(HASH, "/downloads", b"d4:infodee")
    return [
        downloader.version,
        lambda: downloader.list_torrents([HASH]),
        lambda: downloader.files(HASH),
        lambda: downloader.add(job),
        lambda: downloader.remove(HASH, with_files=True),
    ]
