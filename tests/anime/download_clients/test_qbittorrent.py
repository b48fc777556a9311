"""qBittorrent of several versions, scripted; the real one of 4.5 is tried elsewhere."""

from collections.abc import AsyncIterator

import pytest

from headwater.anime.download_clients.connection import DownloadClientConfig
from headwater.anime.download_clients.open_client import open_download_client
from headwater.anime.downloads.ports import (
    ClientDown,
    ClientRefused,
    ClientTorrentFile,
    ClientTorrentState,
    DownloadClient,
    NewClientTorrent,
)
from headwater.web.limits import WebLimits
from tests.support.scripted_qbittorrent import (
    BAN_AFTER,
    USER,
    V4_5,
    V5_1,
    V5_2,
    ScriptedQBittorrent,
)
from tests.support.torrents import made

EPISODE = made("Show - 01.mkv", b"video" * 10_000)
FOLDER = made("Show", {"Season 1/01.mkv": b"one" * 9_000, "notes.txt": b"hello"})
WISH = NewClientTorrent(EPISODE.infohash, "/downloads/release-1", EPISODE.torrent)
VERSIONS = {"4.5": V4_5, "5.1": V5_1, "5.2": V5_2}


@pytest.fixture(params=VERSIONS)
async def client(request: pytest.FixtureRequest) -> AsyncIterator[ScriptedQBittorrent]:
    async with ScriptedQBittorrent(VERSIONS[request.param]) as scripted:
        yield scripted


@pytest.fixture
async def downloader(client: ScriptedQBittorrent) -> AsyncIterator[DownloadClient]:
    opened = to(client)
    yield opened
    await opened.close()


def to(client: ScriptedQBittorrent, password: str = "open-sesame") -> DownloadClient:
    plan = DownloadClientConfig("qbittorrent", client.url, USER, password, deadline=5.0)
    return open_download_client(plan, WebLimits(), "Headwater/test")


async def test_it_tells_its_version(
    client: ScriptedQBittorrent, downloader: DownloadClient
) -> None:
    assert await downloader.version() == f"qBittorrent {client.dialect.version}"


async def test_a_torrent_is_added_with_our_tag_category_and_folder(
    client: ScriptedQBittorrent, downloader: DownloadClient
) -> None:
    await downloader.add(WISH)
    held = client.torrents[EPISODE.infohash]
    assert (held.name, held.size) == ("Show - 01.mkv", 50_000)
    assert (held.save_path, held.tags, held.category) == (
        "/downloads/release-1",
        "headwater",
        "headwater",
    )


async def test_a_magnet_link_is_added(
    client: ScriptedQBittorrent, downloader: DownloadClient
) -> None:
    magnet = f"magnet:?xt=urn:btih:{EPISODE.infohash}&dn=Show%20%26%20Tell"
    await downloader.add(NewClientTorrent(EPISODE.infohash, "/downloads", magnet=magnet))
    job = (await downloader.list_torrents([EPISODE.infohash]))[EPISODE.infohash]
    assert (job.state, job.is_ours) == ("waiting", True)


async def test_adding_what_is_there_changes_nothing_of_it(
    client: ScriptedQBittorrent, downloader: DownloadClient
) -> None:
    client.hold(EPISODE.infohash, tags="somebody, else", save_path="/theirs")
    await downloader.add(WISH)
    assert (client.torrents[EPISODE.infohash].save_path, client.calls[-1]) == (
        "/theirs",
        ("GET", "/api/v2/torrents/info"),
    )


async def test_a_torrent_that_comes_between_our_look_and_our_wish_is_there(
    client: ScriptedQBittorrent, downloader: DownloadClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another worker was quicker: `Fails.` before 5.2, and 409 since, mean that it is there."""
    looked = downloader.list_torrents
    looks = []

    async def too_early(hashes: list[str]) -> object:
        looks.append(hashes)
        found = await looked(hashes)
        client.torrents.setdefault(EPISODE.infohash, client.hold(EPISODE.infohash))
        return {} if len(looks) == 1 else found

    monkeypatch.setattr(downloader, "list_torrents", too_early)
    await downloader.add(WISH)
    assert len(looks) == 2


@pytest.mark.parametrize("looks_in_vain", [1, 4])
async def test_what_is_there_but_not_listed_yet_is_waited_for(
    client: ScriptedQBittorrent,
    downloader: DownloadClient,
    monkeypatch: pytest.MonkeyPatch,
    looks_in_vain: int,
) -> None:
    """A client that has just taken it says `Fails.` to a second wish and lists it later."""
    client.hold(EPISODE.infohash)
    looked = downloader.list_torrents
    looks, pauses = [], list[float]()

    async def listed_late(hashes: list[str]) -> object:
        looks.append(hashes)
        return {} if len(looks) <= 1 + looks_in_vain else await looked(hashes)

    async def pause(seconds: float) -> None:
        pauses.append(seconds)

    monkeypatch.setattr(downloader, "list_torrents", listed_late)
    monkeypatch.setattr(downloader, "_sleep", pause)
    if looks_in_vain == 1:
        await downloader.add(WISH)
        assert pauses == [0.1]
    else:
        with pytest.raises(ClientRefused, match="did not take the torrent"):
            await downloader.add(WISH)
        assert pauses == [0.1, 0.4, 1.5]


async def test_what_it_takes_later_is_taken(
    client: ScriptedQBittorrent, downloader: DownloadClient
) -> None:
    client.adds_later = True
    await downloader.add(WISH)
    assert EPISODE.infohash in client.torrents


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("stoppedDL", "waiting"),
        ("stoppedUP", "complete"),
        ("queuedDL", "waiting"),
        ("forcedMetaDL", "waiting"),
        ("stalledDL", "downloading"),
        ("forcedDL", "downloading"),
        ("checkingUP", "checking"),
        ("checkingResumeData", "checking"),
        ("moving", "checking"),
        ("stalledUP", "complete"),
        ("missingFiles", "failed"),
        ("error", "failed"),
        ("somethingNew", "waiting"),
    ],
)
async def test_states_mean_the_same_under_old_names_and_new_ones(
    client: ScriptedQBittorrent, downloader: DownloadClient, said: str, meant: ClientTorrentState
) -> None:
    client.hold(EPISODE.infohash, state=said, progress=0.5)
    job = (await downloader.list_torrents([EPISODE.infohash]))[EPISODE.infohash]
    assert (job.state, job.progress) == (meant, 0.5)


async def test_ours_is_what_bears_the_whole_tag(
    client: ScriptedQBittorrent, downloader: DownloadClient
) -> None:
    client.hold("a" * 40, tags="films, headwater, new")
    client.hold("b" * 40, tags="headwater2, not-headwater")
    client.hold("c" * 40, category="headwater")
    jobs = await downloader.list_torrents(["a" * 40, "b" * 40, "c" * 40])
    assert [jobs[each * 40].is_ours for each in "abc"] == [True, False, False]


async def test_files_are_listed(client: ScriptedQBittorrent, downloader: DownloadClient) -> None:
    await downloader.add(NewClientTorrent(FOLDER.infohash, "/downloads", FOLDER.torrent))
    assert await downloader.files(FOLDER.infohash) == [
        ClientTorrentFile("Show/Season 1/01.mkv", 27_000),
        ClientTorrentFile("Show/notes.txt", 5),
    ]
    assert await downloader.files("0" * 40) == ()


@pytest.mark.parametrize("with_files", [True, False])
async def test_ours_is_removed(
    client: ScriptedQBittorrent, downloader: DownloadClient, with_files: bool
) -> None:
    await downloader.add(WISH)
    assert await downloader.remove(EPISODE.infohash, with_files=with_files) is True
    assert client.deleted == [(EPISODE.infohash, with_files)]
    assert await downloader.remove(EPISODE.infohash, with_files=with_files) is False


async def test_somebody_elses_is_never_removed(
    client: ScriptedQBittorrent, downloader: DownloadClient
) -> None:
    client.hold(EPISODE.infohash, tags="headwaters")
    with pytest.raises(ClientRefused, match="does not bear our tag"):
        await downloader.remove(EPISODE.infohash, with_files=True)
    assert client.deleted == []


async def test_many_are_asked_for_a_hundred_at_a_time(
    client: ScriptedQBittorrent, downloader: DownloadClient
) -> None:
    hashes = [f"{number:040x}" for number in range(250)]
    client.hold(hashes[0])
    client.hold(hashes[249])
    assert set(await downloader.list_torrents(hashes)) == {hashes[0], hashes[249]}
    # One more for what was not found: a torrent of both versions has another name there.
    assert client.calls.count(("GET", "/api/v2/torrents/info")) == 4


async def test_one_login_is_enough_until_the_client_forgets_it(
    client: ScriptedQBittorrent, downloader: DownloadClient
) -> None:
    for _ in range(3):
        await downloader.version()
    assert client.logins == 1
    client.forget_sessions()
    await downloader.add(WISH)
    assert client.logins == 2


async def test_a_temporary_password_that_changed_is_a_client_that_is_down(
    client: ScriptedQBittorrent, downloader: DownloadClient
) -> None:
    """Without a password of its own, 5.x makes up another one at every start."""
    await downloader.version()
    client.password = "Xy7pQ2mNa"
    client.forget_sessions()
    with pytest.raises(ClientDown, match="does not know this user name and password"):
        await downloader.list_torrents([EPISODE.infohash])
    assert client.failures == 1


async def test_being_locked_out_is_told(client: ScriptedQBittorrent) -> None:
    downloader = to(client, "adminadmin")
    for _ in range(BAN_AFTER):
        with pytest.raises(ClientDown, match="does not know"):
            await downloader.version()
    with pytest.raises(ClientDown, match="locked us out"):
        await downloader.version()
    await downloader.close()


async def test_a_password_with_odd_letters_arrives_as_it_is(client: ScriptedQBittorrent) -> None:
    client.password = "pä&ss=w +%ord"
    downloader = to(client, client.password)
    assert await downloader.version()
    await downloader.close()
