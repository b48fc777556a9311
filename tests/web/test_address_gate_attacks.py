"""Feeds lead to public addresses only, whatever their URL, their name or the environment says."""

import ast
import socket
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import headwater
from headwater.feeds.fetch.outcome import Failed, Fetched
from headwater.feeds.fetch.request_feed import FetchPolicy, FetchRequest, fetch_url
from headwater.web.address_gate import AddressPolicy, build_address_policy
from tests.support.clock import VirtualClock
from tests.support.site import LOOPBACK, Site, a_web, response

HELLO = response(body=b"hello")

# Every way of writing this machine, the metadata services and the private networks.
DISGUISES = [
    "127.0.0.1",  # 1
    "localhost",
    "localhost.",
    "169.254.169.254",  # 2
    "[fd00:ec2::254]",
    "100.100.100.200",
    "168.63.129.16",
    "2130706433",  # 4
    "0x7f000001",
    "0177.0.0.1",
    "127.1",
    "017700000001",
    "127.0.0.01",
    "[::ffff:127.0.0.1]",  # 5
    "[::ffff:a9fe:a9fe]",
    "[::127.0.0.1]",  # 6
    "[::ffff:0:127.0.0.1]",
    "[64:ff9b::a9fe:a9fe]",  # 7
    "[64:ff9b:1::7f00:1]",
    "100.64.0.1",  # 9
    "192.88.99.1",
    "198.18.0.1",
    "240.0.0.1",
    "255.255.255.255",
    "224.0.0.1",  # 10
    "[ff02::1]",
    "[fec0::1]",
    "[3fff::1]",
    "[2001:db8::1]",
    "①②⑦.⓪.⓪.①",  # 11
    "127。0。0。1",
    "ⓛocalhost",
    "0.0.0.0",
    "[::]",
    "[::1]",
]


def open_port(port: int) -> AddressPolicy:
    """The shipped policy, with the sentinel's port open, so that only the address can refuse."""
    return build_address_policy(ports=[80, port])


@pytest.mark.parametrize("host", DISGUISES)
async def test_no_spelling_of_a_private_address_is_dialled(host: str) -> None:
    async with Site(HELLO) as sentinel, a_web(policy=open_port(sentinel.port)) as web:
        answer = await web.get(sentinel.url(host=host), (), deadline=2)
    assert (answer.error, sentinel.connections) == ("blocked_address", 0)


@pytest.mark.parametrize(
    "url",
    [
        "http://localhost\0.example.com/",  # 12
        "http://localhost%00.example.com/",
        "http://a@b@127.0.0.1/",  # 14
        "http://127.0.0.1:80@example.com/",
        "file:///etc/passwd",  # 16
        "FILE:///etc/passwd",
        "gopher://127.0.0.1/",
        "dict://127.0.0.1:11211/stats",
        "ftp://127.0.0.1/",
        "http+unix://%2Frun%2Fdocker.sock/",  # 250
        "http://example.com:99999/",  # 17
    ],
)
async def test_what_is_no_web_address_is_never_asked_for(url: str) -> None:
    async with a_web() as web:
        answer = await web.get(url, (), deadline=2)
    assert (answer.error, answer.status) == ("bad_url", None)


@pytest.mark.parametrize("address", ["127.0.0.1", "10.0.0.1", "169.254.169.254", "[::1]"])
async def test_a_name_that_leads_to_a_private_address_is_blocked_at_the_socket(
    address: str,
) -> None:  # 37, 39, 249: the check sees what is dialled, not what was looked up before
    async with Site(HELLO) as sentinel:
        pin = f"feeds.example:{sentinel.port}:{address}"
        async with a_web(policy=open_port(sentinel.port), resolve=(pin,)) as web:
            answer = await web.get(sentinel.url(host="feeds.example"), (), deadline=2)
    assert (answer.error, sentinel.connections) == ("blocked_address", 0)
    assert "not a public address" in answer.error_detail


Row = tuple[int, int, int, str, tuple[str, int]]


def name_server(*answers: list[str]) -> tuple[Callable[..., list[Row]], list[str]]:
    """A `getaddrinfo` that gives these addresses in turn, and the names it was asked for."""
    asked: list[str] = []

    def look_up(host: str, *_: Any, **__: Any) -> list[Row]:
        asked.append(host)
        found = answers[min(len(asked), len(answers)) - 1]
        return [(0, 0, 0, "", (address, 0)) for address in found]

    return look_up, asked


async def test_a_name_that_leads_elsewhere_the_second_time_is_dialled_where_it_was_checked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # 39: looked up once for a request; the next request is checked anew
    look_up, asked = name_server(["127.0.0.5"], ["127.0.0.1"])
    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    async with Site(HELLO, address="127.0.0.5") as site:
        policy = build_address_policy([f"127.0.0.5:{site.port}"], ports=[80, site.port])
        async with a_web(policy=policy) as web:
            first = await web.get(site.url(host="rebinding.example"), (), deadline=2)
            asked_once = list(asked)
            second = await web.get(site.url(host="rebinding.example"), (), deadline=2)
    assert (first.body, first.address, asked_once) == (b"hello", "127.0.0.5", ["rebinding.example"])
    assert (second.error, site.connections) == ("blocked_address", 1)
    assert second.error_detail == "127.0.0.1 is not a public address (loopback)"


async def test_a_name_that_is_found_leads_to_no_address_beside_the_checked_ones(
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # 42: nobody listens at the address that is allowed, and the other one is private
    look_up, _ = name_server(["127.0.0.9", "::1", "127.0.0.1"])
    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    async with Site(HELLO) as sentinel:
        policy = build_address_policy([f"127.0.0.9:{sentinel.port}"], ports=[80, sentinel.port])
        async with a_web(policy=policy) as web:
            answer = await web.get(sentinel.url(host="feeds.example"), (), deadline=2)
    assert (answer.error, sentinel.connections) == ("blocked_address", 0)


async def test_a_name_with_ten_thousand_private_addresses_is_blocked_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # 41
    look_up, _ = name_server([f"10.0.{n // 250}.{n % 250}" for n in range(10_000)])
    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    async with a_web(policy=AddressPolicy()) as web:
        started = time.thread_time()
        answer = await web.get("http://many.example/", (), deadline=5)
        took = time.thread_time() - started
    assert answer.error == "blocked_address"
    assert took < 0.2


@pytest.mark.parametrize(
    "trouble",
    [
        socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution"),
        socket.gaierror(socket.EAI_FAIL, "Non-recoverable failure in name resolution"),
        UnicodeError("label empty or too long"),
    ],
    ids=["servfail", "a loop of names", "no name at all"],
)
async def test_a_name_server_that_fails_is_told_as_such(
    trouble: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:  # 41
    def look_up(*_: Any, **__: Any) -> list[Row]:
        raise trouble

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    async with a_web(policy=AddressPolicy()) as web:
        answer = await web.get("http://broken.example/", (), deadline=2)
    assert (answer.error, answer.status) == ("dns_error", None)


async def test_there_is_no_falling_back_to_a_blocked_address() -> None:  # 42
    async with Site(HELLO) as sentinel:
        policy = build_address_policy([f"127.0.0.9:{sentinel.port}"], ports=[80, sentinel.port])
        pin = f"feeds.example:{sentinel.port}:127.0.0.9,127.0.0.1"
        async with a_web(policy=policy, resolve=(pin,)) as web:
            answer = await web.get(sentinel.url(host="feeds.example"), (), deadline=2)
    assert (answer.error, sentinel.connections) == ("blocked_address", 0)


async def test_a_kept_connection_leads_where_it_was_checked() -> None:  # 40
    async with Site(HELLO, keep_alive=True) as site:
        policy = build_address_policy([f"feeds.example:{site.port}"])
        pin = f"feeds.example:{site.port}:127.0.0.1"
        async with a_web(policy=policy, resolve=(pin,)) as web:
            first = await web.get(site.url(host="feeds.example"), (), deadline=2)
            second = await web.get(site.url(host="feeds.example"), (), deadline=2)
            other_name = await web.get(site.url(host="localhost"), (), deadline=2)
    assert (first.address, second.address) == ("127.0.0.1", "127.0.0.1")
    assert (other_name.error, site.connections) == ("blocked_address", 1)


async def test_an_allow_list_opens_one_host_and_port_only() -> None:  # 22
    async with Site(HELLO, address="127.0.0.5") as here, Site(HELLO, address="127.0.0.6") as there:
        policy = build_address_policy([f"127.0.0.5:{here.port}"], ports=[here.port, there.port])
        async with a_web(policy=policy) as web:
            works = await web.get(here.url(), (), deadline=2)
            other_port = await web.get(f"http://127.0.0.5:{there.port}/", (), deadline=2)
            other_host = await web.get(there.url(), (), deadline=2)
    assert (works.error, works.body) == (None, b"hello")
    assert (other_port.error, other_host.error) == ("blocked_address", "blocked_address")
    assert there.connections == 0


@pytest.mark.parametrize("port", [22, 25, 6379, 5432, 11211])
async def test_ports_of_other_services_are_not_dialled(port: int) -> None:  # 17
    pin = f"feeds.example:{port}:127.0.0.1"
    async with a_web(policy=AddressPolicy(), resolve=(pin,)) as web:
        answer = await web.get(f"http://feeds.example:{port}/", (), deadline=2)
    assert answer.error == "blocked_address"


async def test_the_environment_cannot_redirect_us(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:  # 250
    (tmp_path / ".netrc").write_text("machine 127.0.0.1 login me password hunter2\n")
    (tmp_path / ".netrc").chmod(0o600)
    (tmp_path / ".curlrc").write_text('user-agent = "somebody else"\n')
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("CURL_HOME", str(tmp_path))
    async with Site(HELLO) as site, Site(HELLO, address="127.0.0.3") as proxy:
        for name in ("http_proxy", "HTTP_PROXY", "https_proxy", "all_proxy", "ALL_PROXY"):
            monkeypatch.setenv(name, proxy.url())
        monkeypatch.setenv("NO_PROXY", "")
        async with a_web() as web:
            answer = await web.get(site.url(), (("User-Agent", "t"),), deadline=2)
    assert (answer.body, proxy.connections) == (b"hello", 0)
    assert site.requests == [
        f"GET / HTTP/1.1\r\nHost: 127.0.0.1:{site.port}\r\nUser-Agent: t\r\n\r\n".encode()
    ]


SOURCE = Path(headwater.__file__).parent


def callers_of(method: str) -> set[str]:
    return {
        str(path.relative_to(SOURCE))
        for path in SOURCE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Call)
        and ast.unparse(node.func)
        .removeprefix("self.")
        .endswith((f"web.{method}", f"_web.{method}"))
    }


def test_there_is_one_way_out_to_the_web() -> None:  # 21
    """Every fetch path goes through `fetch_url`, and `fetch_url` through the gate. The other one
    reaches the
    operator's own download client and no other address."""
    assert callers_of("get") == {
        "anime/download_clients/connection.py",
        "feeds/fetch/request_feed.py",
    }


def test_what_is_posted_leaves_by_the_same_door() -> None:  # 21, 36
    assert callers_of("post") == {
        "anime/download_clients/connection.py",
        "subscriptions/fetchers/fetcher_client.py",
        "sinks/kinds/webhook.py",
    }


async def test_after_a_blocked_address_the_next_feed_is_fetched_as_usual() -> None:  # SAFE (f)
    policy = FetchPolicy(user_agent="t", address=LOOPBACK)
    async with Site(HELLO) as site, a_web() as web:
        blocked = await fetch_url(FetchRequest("http://10.0.0.1/"), policy, web, VirtualClock())
        fine = await fetch_url(FetchRequest(site.url()), policy, web, VirtualClock())
    assert isinstance(blocked, Failed)
    assert blocked.code == "blocked_address"
    assert isinstance(fine, Fetched)
