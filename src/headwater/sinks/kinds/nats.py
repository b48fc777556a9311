"""A JetStream stream of NATS as a sink: what may be said of it, and how it is opened."""

import asyncio
import re
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any, cast

from headwater.sinks.kinds.broker import BrokerUrl, broker_url
from headwater.sinks.kinds.options import SinkOptions
from headwater.sinks.ports import SinkConfig, SinkConnection
from headwater.sinks.sink_kind import CheckedOptions, SinkKind, SinkResources

SCHEMES = {"nats": 4222, "tls": 4222}
SUBJECT, STREAM = "headwater.events", "HEADWATER"
DUPLICATE_WINDOW = 86_400.0
TIMEOUT = 10.0
_MOST_SERVERS = 16
_LONGEST_NAME = 200
_LONGEST_WINDOW = 366 * 86_400.0
_SUBJECT = re.compile(r"(?!\$)[^\s.*>]+(?:\.[^\s.*>]+)*")
_STREAM = re.compile(r"[^\s.*>/\\]+")


def nats_kind(_resources: SinkResources) -> SinkKind:
    return SinkKind(check=check_nats_options, open=open_nats_sink)


def check_nats_options(options: Mapping[str, Any], secrets: Mapping[str, str]) -> CheckedOptions:
    """With defaults filled in; what is secret in the URL goes there. BadInput names the field."""
    given, hidden = SinkOptions("nats", options), SinkOptions("nats secret", secrets)
    servers = _servers(given)
    kept = {name: hidden.maybe_text(name) for name in ("token", "user", "password")}
    subject = given.text("subject", SUBJECT, longest=_LONGEST_NAME)
    if not _SUBJECT.fullmatch(subject):
        raise given.refusal("subject", "must be words with dots between them, no * and no >")
    stream = given.text("stream", STREAM, longest=_LONGEST_NAME)
    if not _STREAM.fullmatch(stream):
        raise given.refusal("stream", "may have no dots, slashes, spaces, * and >")
    window = given.number("duplicate_window_sec", DUPLICATE_WINDOW, least=1.0, most=_LONGEST_WINDOW)
    checked = {
        "url": ",".join(server.place for server in servers),
        "subject": subject,
        "stream": stream,
        "duplicate_window_sec": window,
        "timeout_sec": given.number("timeout_sec", TIMEOUT, least=0.1, most=120.0),
    }
    given.refuse_others()
    hidden.refuse_others()
    return checked, _credentials(hidden, kept | _credentials_in_urls(servers))


async def open_nats_sink(plan: SinkConfig) -> SinkConnection:
    """The server is met when something is delivered.

    Its client takes half a second to import: only where there is such a sink, and not in the loop.
    """
    room = await asyncio.to_thread(import_module, "headwater.sinks.kinds.nats_stream")
    return cast(SinkConnection, room.NatsSink(plan.options, plan.secrets))


def _servers(given: SinkOptions) -> list[BrokerUrl]:
    texts = given.text("url").split(",")
    if len(texts) > _MOST_SERVERS:
        raise given.refusal("url", f"may name {_MOST_SERVERS} servers")
    servers = [broker_url(given, text.strip(), SCHEMES) for text in texts]
    if any(server.path for server in servers):
        raise given.refusal("url", "may have nothing after the port")
    return servers


def _credentials_in_urls(servers: Sequence[BrokerUrl]) -> dict[str, str | None]:
    """`nats://user:password@host`, or `nats://token@host`; all servers share them."""
    for server in servers:
        if server.user and server.password:
            return {"user": server.user, "password": server.password, "token": None}
        if server.user:
            return {"token": server.user, "user": None, "password": None}
    return {}


def _credentials(hidden: SinkOptions, kept: Mapping[str, str | None]) -> dict[str, str]:
    said = {name: value for name, value in kept.items() if value is not None}
    if ("user" in said) != ("password" in said):
        missing = "password" if "user" in said else "user"
        raise hidden.refusal(missing, "must be given too")
    if "token" in said and "user" in said:
        raise hidden.refusal("token", "cannot be given beside a user")
    return said
