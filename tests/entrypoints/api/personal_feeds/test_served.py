"""Personal feeds over real HTTP, as feed readers ask for them."""

import asyncio
import gzip
import http.client
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from headwater.settings import Settings
from headwater.wiring.app import open_services
from tests.support.api_server import Served, served
from tests.support.engine_parts import EngineParts
from tests.support.readers import Readers

ADMIN = "an-admin-token-of-the-tests"
TOKEN = "hwr_aTokenOfAdaThatIsLongEnough"


@pytest.fixture
async def service(database_url: str, tmp_path: Path) -> AsyncIterator[Served]:
    settings = Settings(
        data_dir=tmp_path,
        database_url=database_url,
        port=0,
        admin_token=ADMIN,
        parser_processes=1,
        personal_rate_per_minute=100_000,
    )
    async with (
        open_services(settings) as services,
        served(EngineParts.of(services), settings) as running,
    ):
        yield running


def ask(
    service: Served, method: str, target: str, **headers: str
) -> tuple[int, dict[str, str], bytes]:
    connection = http.client.HTTPConnection(*service.place, timeout=30)
    try:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        connection.request(method, target, headers=named)
        answer = connection.getresponse()
        return answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read()
    finally:
        connection.close()


async def test_a_feed_reader_polls(service: Served) -> None:
    readers = Readers(service.engine)
    await readers.opened("Ada", "rivers", token=TOKEN)
    await readers.item("rivers", "first")
    await asyncio.to_thread(polls, service)


def polls(service: Served) -> None:
    for path, kind in {
        "/rss": "application/rss+xml",
        "/atom": "application/atom+xml",
        "/feed.json": "application/feed+json",
    }.items():
        target = f"{path}?token={TOKEN}"
        status, headers, body = ask(service, "GET", target)
        assert (status, headers["content-type"]) == (200, kind)
        assert b"first" in body
        assert int(headers["content-length"]) == len(body)
        assert headers["link"] == f'<{service.url}{path}>; rel="self"'
        head = ask(service, "HEAD", target)
        assert (head[0], head[2]) == (200, b"")
        assert head[1]["content-length"] == headers["content-length"]
        status, again, nothing = ask(service, "GET", target, If_None_Match=headers["etag"])
        assert (status, nothing) == (304, b"")
        assert again["etag"] == headers["etag"]
        assert "content-length" not in again
        status, packed, zipped = ask(service, "GET", target, Accept_Encoding="gzip")
        assert (status, packed["content-encoding"]) == (200, "gzip")
        assert gzip.decompress(zipped) == body
        assert len(zipped) == int(packed["content-length"])


async def test_one_connection_serves_many_polls(service: Served) -> None:
    """Also after a 304 and a HEAD, which have no body: nothing is left over on the line."""
    readers = Readers(service.engine)
    await readers.opened("Ada", "rivers", token=TOKEN)

    def story() -> None:
        connection = http.client.HTTPConnection(*service.place, timeout=30)
        tag = ""
        for method, status in (("GET", 200), ("GET", 304), ("HEAD", 200), ("GET", 200)):
            sent = {"If-None-Match": tag} if status == 304 else {}
            connection.request(method, f"/rss?token={TOKEN}", headers=sent)
            answer = connection.getresponse()
            answer.read()
            assert answer.status == status
            tag = answer.headers["etag"]
        connection.close()

    await asyncio.to_thread(story)


async def test_a_revoked_token_ends_within_a_second_at_every_process(
    service: Served, database_url: str, tmp_path: Path
) -> None:
    readers = Readers(service.engine)
    reader = await readers.reader("Ada", "rivers")
    token_id = await readers.token(reader, TOKEN)
    settings = Settings(
        data_dir=tmp_path / "other",
        database_url=database_url,
        port=0,
        admin_token=ADMIN,
        parser_processes=1,
        personal_rate_per_minute=100_000,
    )
    async with (
        open_services(settings) as services,
        served(EngineParts.of(services), settings) as other,
    ):
        engine = EngineParts.of(services)
        target = f"/rss?token={TOKEN}"
        for each in (service, other):
            assert (await asyncio.to_thread(ask, each, "GET", target))[0] == 200
        now = readers.now
        await engine.personal.end_token(token_id, until=now, revoked=True, now=now)
        ends = asyncio.get_running_loop().time() + 1.0
        for each in (service, other):
            while (answer := await asyncio.to_thread(ask, each, "GET", target))[0] == 200:
                assert asyncio.get_running_loop().time() < ends
            assert answer[0] == 404
