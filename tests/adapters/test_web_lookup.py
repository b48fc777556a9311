"""Names that cannot be looked up in time: trouble of their own feeds, and of nobody else's."""

import asyncio
import socket
from collections.abc import Iterator
from threading import Event
from typing import Any

import pytest

from headwater.adapters.web_limits import WebLimits
from tests.wire import Site, a_web, response

HANGING = 40
"""Twice as many as libcurl has threads for lookups."""

HELLO = response("200 OK", body=b"hello")


@pytest.fixture
def dead_name_servers(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Names under `dead.example` get no answer while the test lasts; all others are here."""
    over, really = Event(), socket.getaddrinfo

    def look_up(host: str, *rest: Any, **more: Any) -> Any:
        if host.endswith(".dead.example"):
            over.wait()
            raise socket.gaierror(socket.EAI_AGAIN, "no answer")
        return really("127.0.0.1", *rest, **more)

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    yield
    over.set()


@pytest.mark.usefixtures("dead_name_servers")
async def test_names_that_hang_do_not_keep_others_from_being_found() -> None:
    async with Site(HELLO) as site, a_web(WebLimits(connect=0.5)) as web:
        hanging = [
            asyncio.create_task(web.get(f"http://n{n}.dead.example:8080/", (), deadline=5))
            for n in range(HANGING)
        ]
        await asyncio.sleep(0.05)
        answer = await web.get(f"http://alive.example:{site.port}/", (), deadline=5)
        lost = await asyncio.gather(*hanging)
    assert (answer.status, answer.error, answer.address) == (200, None, "127.0.0.1")
    assert {each.error for each in lost} == {"timeout"}


@pytest.mark.usefixtures("dead_name_servers")
async def test_where_a_name_was_found_is_forgotten_with_the_next_request() -> None:
    """One handle asks two names and then the first again, each by its own name."""
    async with Site(HELLO) as site, a_web(WebLimits(kept_handles=1)) as web:
        names = ["one.example", "two.example.", "one.example"]
        answers = [await web.get(f"http://{n}:{site.port}/", (), deadline=5) for n in names]
    assert [each.status for each in answers] == [200, 200, 200]
