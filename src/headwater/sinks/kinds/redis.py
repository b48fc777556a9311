"""The kind of sink for Redis and Valkey: the options of a stream, and how it is opened."""

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
    """Options with defaults filled in; a password in the URL becomes a secret.

    BadInput names the field.
    """
    sink_options, sink_secrets = SinkOptions("redis", options), SinkOptions("redis secret", secrets)
    url = broker_url(sink_options, sink_options.text("url"), SCHEMES)
    password = sink_secrets.maybe_text("password")
    password = url.password or password
    checked = {
        "url": _without_password(url),
        "stream": sink_options.text("stream", STREAM, longest=_LONGEST_NAME),
        "max_length": sink_options.maybe_whole("max_length", None, least=1, most=_MOST_ENTRIES),
        "timeout_sec": sink_options.number("timeout_sec", TIMEOUT, least=0.1, most=120.0),
    }
    if database_number(url) is None:
        raise sink_options.refusal("url", "may end with the number of a database, such as /0, only")
    sink_options.refuse_others()
    sink_secrets.refuse_others()
    return checked, {"password": password} if password else {}


async def open_redis_sink(config: SinkConfig) -> SinkConnection:
    """Open the sink; it connects at its first delivery.

    The client takes half a second to import: so only if there is such a sink, and in a thread.
    """
    module = await asyncio.to_thread(import_module, "headwater.sinks.kinds.redis_stream")
    url = broker_url(SinkOptions("redis", config.options), config.options["url"], SCHEMES)
    return cast(
        SinkConnection,
        module.RedisStreamSink(url, database_number(url) or 0, config.options, config.secrets),
    )


def database_number(url: BrokerUrl) -> int | None:
    """The number of the database; None when the path is no number."""
    text = url.path.removeprefix("/") or "0"
    is_number = text.isascii() and text.isdigit() and len(text) <= _LONGEST_DATABASE
    return int(text) if is_number else None


def _without_password(url: BrokerUrl) -> str:
    if url.user is None:
        return url.place
    return url.place.replace("://", f"://{quote(url.user, safe='')}@", 1)
