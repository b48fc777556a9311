"""Names that cannot be looked up in time: trouble of their own feeds, and of nobody else's."""

import asyncio
import errno
import socket
from collections.abc import Iterator
from threading import Event
from typing import Any

import pytest

from headwater.web.limits import WebLimits
from headwater.web.lookup import Lookups
from tests.support.site import Site, a_web, response

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
async def test_when_as_many_names_hang_as_may_another_one_is_refused_at_once() -> None:
    lookups = Lookups(most=2)
    names = ["a.dead.example", "b.dead.example", "a.dead.example"]
    hanging = [asyncio.create_task(lookups.addresses(name)) for name in names]
    await asyncio.sleep(0)
    async with asyncio.timeout(5):
        with pytest.raises(OSError, match="too many lookups hang"):
            await lookups.addresses("c.dead.example")
    lookups.end()
    ended = await asyncio.gather(*hanging, return_exceptions=True)
    assert [str(each) for each in ended] == ["closed", "closed", "closed"]


async def test_of_a_name_with_very_many_addresses_the_first_are_enough(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each once, in the order of the answer, which names every address for two protocols."""
    listed = [f"192.0.2.{n}" for n in range(1, 251)]
    rows = [(0, 0, 0, "", (address, 0)) for address in listed for _ in range(2)]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: rows)
    found = await Lookups().addresses("many.example")
    monkeypatch.undo()
    assert found == [f"192.0.2.{n}" for n in range(1, 65)]


@pytest.mark.usefixtures("dead_name_servers")
async def test_where_a_name_was_found_is_forgotten_with_the_next_request() -> None:
    """One handle asks two names and then the first again, each by its own name."""
    async with Site(HELLO) as site, a_web(WebLimits(kept_handles=1)) as web:
        names = ["one.example", "two.example.", "one.example"]
        answers = [await web.get(f"http://{n}:{site.port}/", (), deadline=5) for n in names]
    assert [each.status for each in answers] == [200, 200, 200]


async def test_an_address_of_a_family_that_this_machine_lacks_keeps_no_other_from_being_asked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """IPv6 is switched off in the kernel; the name has addresses of both kinds."""
    a_socket = socket.socket

    def without_ipv6(family: int, *rest: Any, **more: Any) -> socket.socket:
        if family == socket.AF_INET6:
            raise OSError(errno.EAFNOSUPPORT, "Address family not supported by protocol")
        return a_socket(family, *rest, **more)

    def look_up(*_: Any, **__: Any) -> Any:
        return [(0, 0, 0, "", ("::1", 0, 0, 0)), (0, 0, 0, "", ("127.0.0.1", 0))]

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    async with Site(HELLO) as site, a_web(WebLimits()) as web:
        monkeypatch.setattr(socket, "socket", without_ipv6)
        answer = await web.get(f"http://both.example:{site.port}/", (), deadline=5)
        monkeypatch.undo()
    assert (answer.status, answer.error, answer.error_detail) == (200, None, "")
    assert (answer.body, answer.address) == (b"hello", "127.0.0.1")


@pytest.mark.usefixtures("dead_name_servers")
async def test_who_waits_for_a_name_is_told_when_everything_is_closed() -> None:
    async with a_web(WebLimits(connect=60)) as web:
        asked = asyncio.create_task(web.get("http://a.dead.example/", (), deadline=60))
        await asyncio.sleep(0)
        await web.close()
        answer = await asyncio.wait_for(asked, 5)
    assert (answer.status, answer.error, answer.error_detail) == (None, "network_error", "closed")


async def test_where_a_name_leads_is_told_without_asking_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def look_up(host: str, *_: Any, **__: Any) -> Any:
        if host == "nowhere.example":
            raise socket.gaierror("no such name")
        return [(0, 0, 0, "", ("192.0.2.9", 0)), (0, 0, 0, "", ("192.0.2.10", 0))]

    pin = "pinned.example:80:[2001:db8::7],192.0.2.1"
    async with a_web(WebLimits(), resolve=(pin,)) as web:
        monkeypatch.setattr(socket, "getaddrinfo", look_up)
        names = ("both.example", "nowhere.example", "pinned.example", "192.0.2.4", "2001:db8::4")
        found = [await web.address_of(name) for name in names]
        monkeypatch.undo()
    assert found == ["192.0.2.9", None, "2001:db8::7", None, None]


@pytest.mark.usefixtures("dead_name_servers")
async def test_where_a_name_leads_is_not_waited_for_longer_than_for_a_connection() -> None:
    async with a_web(WebLimits(connect=0.1)) as web:
        assert await asyncio.wait_for(web.address_of("a.dead.example"), 5) is None
