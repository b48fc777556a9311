"""A Redis or Valkey stream as a sink: what may be said of it, and how it is opened."""

import asyncio
from collections.abc import Mapping
from importlib import import_module
from typing import Any, cast
from urllib.parse import quote

from headwater.sinks.kinds.broker import BrokerUrl, broker_url
from headwater.sinks.kinds.options import SinkOptions
from headwater.sinks.ports import SinkConfig, SinkConnection
from headwater.sinks.sink_kind import CheckedOptions, SinkKind, SinkResources

SCHEMES = {"redis": 6379, "rediss": 6379}
STREAM = "headwater:events"
TIMEOUT = 10.0
_LONGEST_NAME = 512
_LONGEST_DATABASE = 5
_MOST_ENTRIES = 10**12


def redis_kind(_resources: SinkResources) -> SinkKind:
    return SinkKind(check=check_redis_options, open=open_redis_sink)


def check_redis_options(options: Mapping[str, Any], secrets: Mapping[str, str]) -> CheckedOptions:
    """With defaults filled in; a password in the URL becomes a secret. BadInput names the field."""
    given, hidden = SinkOptions("redis", options), SinkOptions("redis secret", secrets)
    url = broker_url(given, given.text("url"), SCHEMES)
    kept = hidden.maybe_text("password")
    password = url.password or kept
    checked = {
        "url": _without_password(url),
        "stream": given.text("stream", STREAM, longest=_LONGEST_NAME),
        "max_length": given.maybe_whole("max_length", None, least=1, most=_MOST_ENTRIES),
        "timeout_sec": given.number("timeout_sec", TIMEOUT, least=0.1, most=120.0),
    }
    if database_number(url) is None:
        raise given.refusal("url", "may end with the number of a database, such as /0, only")
    given.refuse_others()
    hidden.refuse_others()
    return checked, {"password": password} if password else {}


async def open_redis_sink(plan: SinkConfig) -> SinkConnection:
    """The server is met when something is delivered.

    Its client takes half a second to import: only where there is such a sink, and not in the loop.
    """
    room = await asyncio.to_thread(import_module, "headwater.sinks.kinds.redis_stream")
    url = broker_url(SinkOptions("redis", plan.options), plan.options["url"], SCHEMES)
    return cast(
        SinkConnection,
        room.RedisStreamSink(url, database_number(url) or 0, plan.options, plan.secrets),
    )


def database_number(url: BrokerUrl) -> int | None:
    """Its number; None when what follows the host is no number."""
    named = url.path.removeprefix("/") or "0"
    plain = named.isascii() and named.isdigit() and len(named) <= _LONGEST_DATABASE
    return int(named) if plain else None


def _without_password(url: BrokerUrl) -> str:
    if url.user is None:
        return url.place
    return url.place.replace("://", f"://{quote(url.user, safe='')}@", 1)
