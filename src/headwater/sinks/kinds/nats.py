"""The kind of sink for NATS: the options of a JetStream stream, and how it is opened."""

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
    """Options with defaults filled in; secrets in the URL move to the secrets.

    BadInput names the field.
    """
    sink_options, sink_secrets = SinkOptions("nats", options), SinkOptions("nats secret", secrets)
    servers = _servers(sink_options)
    stored = {name: sink_secrets.maybe_text(name) for name in ("token", "user", "password")}
    subject = sink_options.text("subject", SUBJECT, longest=_LONGEST_NAME)
    if not _SUBJECT.fullmatch(subject):
        raise sink_options.refusal("subject", "must be words with dots between them, no * and no >")
    stream = sink_options.text("stream", STREAM, longest=_LONGEST_NAME)
    if not _STREAM.fullmatch(stream):
        raise sink_options.refusal("stream", "may have no dots, slashes, spaces, * and >")
    window = sink_options.number(
        "duplicate_window_sec", DUPLICATE_WINDOW, least=1.0, most=_LONGEST_WINDOW
    )
    checked = {
        "url": ",".join(server.place for server in servers),
        "subject": subject,
        "stream": stream,
        "duplicate_window_sec": window,
        "timeout_sec": sink_options.number("timeout_sec", TIMEOUT, least=0.1, most=120.0),
    }
    sink_options.refuse_others()
    sink_secrets.refuse_others()
    return checked, _credentials(sink_secrets, stored | _credentials_in_urls(servers))


async def open_nats_sink(config: SinkConfig) -> SinkConnection:
    """Open the sink; it connects at its first delivery.

    The client takes half a second to import: so only if there is such a sink, and in a thread.
    """
    module = await asyncio.to_thread(import_module, "headwater.sinks.kinds.nats_stream")
    return cast(SinkConnection, module.NatsSink(config.options, config.secrets))


def _servers(sink_options: SinkOptions) -> list[BrokerUrl]:
    texts = sink_options.text("url").split(",")
    if len(texts) > _MOST_SERVERS:
        raise sink_options.refusal("url", f"may name {_MOST_SERVERS} servers")
    servers = [broker_url(sink_options, text.strip(), SCHEMES) for text in texts]
    if any(server.path for server in servers):
        raise sink_options.refusal("url", "may have nothing after the port")
    return servers


def _credentials_in_urls(servers: Sequence[BrokerUrl]) -> dict[str, str | None]:
    """`nats://user:password@host`, or `nats://token@host`; all servers share them."""
    for server in servers:
        if server.user and server.password:
            return {"user": server.user, "password": server.password, "token": None}
        if server.user:
            return {"token": server.user, "user": None, "password": None}
    return {}


def _credentials(sink_secrets: SinkOptions, values: Mapping[str, str | None]) -> dict[str, str]:
    credentials = {name: value for name, value in values.items() if value is not None}
    if ("user" in credentials) != ("password" in credentials):
        missing = "password" if "user" in credentials else "user"
        raise sink_secrets.refusal(missing, "must be given too")
    if "token" in credentials and "user" in credentials:
        raise sink_secrets.refusal("token", "cannot be given beside a user")
    return credentials
