"""Who is let in over gRPC, what bounds a call, and the way a server begins and ends."""

import asyncio
import socket
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import grpc
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from headwater.auth import token_rows
from headwater.auth.tokens import Scope, token_hash
from headwater.client.grpc import headwater_pb2
from headwater.core.errors import (
    BadSettings,
    ConnectionLost,
    DatabaseError,
    HeadwaterError,
    StorageError,
    TooSoon,
)
from headwater.entrypoints.api.feeds.feed_records import FeedPage
from headwater.entrypoints.grpc.errors import status_of
from headwater.entrypoints.grpc.server import GrpcListener, peer_address
from headwater.entrypoints.server.listener import PortTaken
from headwater.settings import Settings
from tests.entrypoints.grpc.conftest import ADMIN, SECONDS, Serve, Served, refused, stub_of
from tests.support.scripted_engine import River

LIST = headwater_pb2.ListFeedsRequest()


@pytest.fixture
def dialect() -> str:
    """What is asked here does not depend on the database."""
    return "sqlite"


def shown(token: str, field: str = "authorization") -> list[tuple[str, str]]:
    return [(field, f"Bearer {token}")]


async def token(river: River, scope: Scope) -> str:
    async with river.engine.database.write() as tx:
        now = river.engine.clock.now()
        await token_rows.insert_token(tx, scope, scope, token_hash(f"hw_{scope}"), now)
    return f"hw_{scope}"


async def refusal_of(call: Any) -> tuple[grpc.StatusCode, str | None]:
    with pytest.raises(grpc.aio.AioRpcError) as told:
        await call
    return refused(told.value)


async def test_with_an_admin_token_every_call_wants_one(river: River, serve: Serve) -> None:
    reader, publisher = await token(river, "read"), await token(river, "publish")
    async with serve(admin_token=ADMIN) as served:
        ask = served.stub.ListFeeds
        unknown = (grpc.StatusCode.UNAUTHENTICATED, "unauthorized")
        assert await refusal_of(ask(LIST)) == unknown
        assert await refusal_of(ask(LIST, metadata=shown("wrong"))) == unknown
        assert await refusal_of(ask(LIST, metadata=shown(reader, "x-token"))) == unknown
        assert await refusal_of(ask(LIST, metadata=shown(reader) * 2)) == unknown
        wrong_scope = (grpc.StatusCode.PERMISSION_DENIED, "forbidden")
        assert await refusal_of(ask(LIST, metadata=shown(publisher))) == wrong_scope
        for good in (reader, ADMIN):
            assert len((await ask(LIST, metadata=shown(good))).feeds) == 0
        raw = served.stub.GetRaw(headwater_pb2.GetRawRequest(fetch_id="x"))
        assert await refusal_of(raw.read()) == unknown
        stream = served.stub.StreamEvents(headwater_pb2.StreamEventsRequest())
        assert await refusal_of(stream.read()) == unknown


async def test_a_token_that_asks_too_often_is_told_to_wait(river: River, serve: Serve) -> None:
    async with serve(admin_token=ADMIN, api_rate_per_minute=2) as served:
        for _ in range(2):
            await served.stub.ListFeeds(LIST, metadata=shown(ADMIN))
        too_often = served.stub.ListFeeds(LIST, metadata=shown(ADMIN))
        assert await refusal_of(too_often) == (
            grpc.StatusCode.RESOURCE_EXHAUSTED,
            "rate_limited",
        )


def test_without_an_admin_token_only_loopback_may_be_listened_on() -> None:
    with pytest.raises(BadSettings, match="HEADWATER_ADMIN_TOKEN"):
        GrpcListener(Settings(grpc_port=0, grpc_host="0.0.0.0"))


def test_the_other_end_of_the_socket_is_who_is_asking() -> None:
    assert peer_address("ipv4:127.0.0.1:5000") == "127.0.0.1"
    assert peer_address("ipv6:%5B::1%5D:5000") == "::1"
    assert peer_address("ipv6:[2001:db8::1]:5000") == "2001:db8::1"
    assert peer_address("unix:/tmp/socket") == ""


@pytest.mark.parametrize(
    ("trouble", "status"),
    [
        (ConnectionLost("x"), grpc.StatusCode.UNAVAILABLE),
        (DatabaseError("x"), grpc.StatusCode.UNAVAILABLE),
        (StorageError("x"), grpc.StatusCode.UNAVAILABLE),
        (TooSoon("x"), grpc.StatusCode.RESOURCE_EXHAUSTED),
        (HeadwaterError("x"), grpc.StatusCode.INTERNAL),
    ],
)
def test_every_error_has_a_status(trouble: HeadwaterError, status: grpc.StatusCode) -> None:
    assert status_of(trouble) is status


async def test_what_is_no_message_of_a_call_is_a_bad_request(served: Served) -> None:
    async with grpc.aio.insecure_channel(served.address) as channel:
        ask = channel.unary_unary("/headwater.v1.Headwater/GetFeed")
        assert await refusal_of(ask(b"\xff\xff\xff")) == (
            grpc.StatusCode.INVALID_ARGUMENT,
            "bad_request",
        )
        missing = channel.unary_unary("/headwater.v1.Headwater/DeleteFeed")
        assert await refusal_of(missing(b"")) == (grpc.StatusCode.UNIMPLEMENTED, None)


async def test_a_request_that_is_too_large_is_not_even_read(serve: Serve) -> None:
    async with serve(api_max_body_bytes=2_048) as served:
        call = served.stub.ListFeeds(headwater_pb2.ListFeedsRequest(url="x" * 10_000))
        status, _ = await refusal_of(call)
        assert status is grpc.StatusCode.RESOURCE_EXHAUSTED


async def test_a_call_that_takes_too_long_is_broken_off(
    river: River, serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    may_end = asyncio.Event()

    async def never(*_: object, **__: object) -> FeedPage:
        await may_end.wait()
        return FeedPage(feeds=[], next_cursor=None)

    monkeypatch.setattr("headwater.entrypoints.api.feeds.feeds.feed_page", never)
    async with serve(grpc_deadline_seconds=0.2) as served:
        refused = await refusal_of(served.stub.ListFeeds(LIST))
        may_end.set()  # a stop would wait for it
    assert refused == (grpc.StatusCode.DEADLINE_EXCEEDED, "deadline_exceeded")


async def test_a_caller_that_leaves_does_not_break_off_what_was_begun_for_it(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the middle of a query that would cost a connection to the database."""
    begun, may_end, ended = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def slow(*_: object, **__: object) -> FeedPage:
        begun.set()
        await may_end.wait()
        ended.set()
        return FeedPage(feeds=[], next_cursor=None)

    monkeypatch.setattr("headwater.entrypoints.api.feeds.feeds.feed_page", slow)
    async with serve() as served:
        call = served.stub.ListFeeds(LIST)
        await begun.wait()
        call.cancel()
        may_end.set()
        async with asyncio.timeout(SECONDS):
            await ended.wait()


async def test_a_mistake_of_ours_tells_nothing_of_what_happened(
    river: River, serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(*_: object, **__: object) -> None:
        raise RuntimeError("planted secret")

    monkeypatch.setattr("headwater.entrypoints.api.feeds.feeds.feed_page", broken)
    async with serve() as served:
        with pytest.raises(grpc.aio.AioRpcError) as told:
            await served.stub.ListFeeds(LIST)
    assert refused(told.value) == (grpc.StatusCode.INTERNAL, "internal_error")
    assert "planted" not in str(told.value)


async def test_a_port_that_is_taken_is_said_at_once(served: Served) -> None:
    port = int(served.address.rpartition(":")[2])
    with pytest.raises(PortTaken, match=f"port {port}"):
        GrpcListener(Settings(grpc_port=port))
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        with pytest.raises(PortTaken):
            GrpcListener(Settings(grpc_port=other.getsockname()[1]))


async def test_health_can_be_asked_for_without_a_token(serve: Serve) -> None:
    async with (
        serve(admin_token=ADMIN) as served,
        grpc.aio.insecure_channel(served.address) as channel,
    ):
        check = channel.unary_unary("/grpc.health.v1.Health/Check")
        assert await check(b"") == b"\x08\x01"
        assert await check(b"\x0a\x16headwater.v1.Headwater") == b"\x08\x01"
        assert (await refusal_of(check(b"\x0a\x05other")))[0] is grpc.StatusCode.NOT_FOUND


@pytest.fixture
def certificate(tmp_path: Path) -> tuple[Path, Path]:
    """For 127.0.0.1, signed by itself: its file and its key's file."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "headwater")])
    now = datetime.now(UTC)
    signed = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(
            x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False
        )
        .sign(key, hashes.SHA256())
    )
    files = tmp_path / "server.pem", tmp_path / "server.key"
    files[0].write_bytes(signed.public_bytes(serialization.Encoding.PEM))
    files[1].write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    files[1].chmod(0o600)
    return files


async def test_with_a_certificate_it_speaks_tls_and_nothing_else(
    serve: Serve, certificate: tuple[Path, Path]
) -> None:
    path, key = certificate
    async with serve(grpc_tls_certificate=path, grpc_tls_key=key) as served:
        trusted = grpc.ssl_channel_credentials(path.read_bytes())
        async with grpc.aio.secure_channel(served.address, trusted) as channel:
            assert len((await stub_of(channel).ListFeeds(LIST)).feeds) == 0
        assert (await refusal_of(served.stub.ListFeeds(LIST, timeout=5)))[0] in (
            grpc.StatusCode.UNAVAILABLE,
            grpc.StatusCode.DEADLINE_EXCEEDED,
        )


async def test_certificates_that_do_not_work_stop_the_start(
    certificate: tuple[Path, Path], tmp_path: Path
) -> None:
    path, key = certificate
    with pytest.raises(BadSettings, match="go together"):
        GrpcListener(Settings(grpc_port=0, grpc_tls_certificate=path))
    with pytest.raises(BadSettings, match="cannot be read"):
        GrpcListener(
            Settings(grpc_port=0, grpc_tls_certificate=tmp_path / "nothing.pem", grpc_tls_key=key)
        )
    key.chmod(0o644)
    with pytest.raises(BadSettings, match="chmod 600"):
        GrpcListener(Settings(grpc_port=0, grpc_tls_certificate=path, grpc_tls_key=key))
    key.chmod(0o600)
    path.write_text("hello")
    with pytest.raises(BadSettings, match="no PEM file"):
        GrpcListener(Settings(grpc_port=0, grpc_tls_certificate=path, grpc_tls_key=key))
