"""A sink into a Redis or Valkey stream: one script per batch adds the events that are missing."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, cast

from redis import exceptions as redis_errors
from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff

from headwater.core.values.instant import rfc3339_at
from headwater.events.event_json import WireEvent
from headwater.sinks.kinds.broker import BrokerUrl, batches, error_text
from headwater.sinks.ports import DeliveryResult

BATCH_BYTES = 1024 * 1024
"""Bytes in one call. No server can be configured to refuse a single value of this size."""

BATCH_EVENTS = 500
LOOK_BACK = 10_000
"""The most entries that are searched for events that are there already."""

# Events of the same replay number are at the end of the stream, so the script walks back from
# there until it finds an older event. Mostly that is the last entry. Events are compared by their
# id: after a restore from a backup, other events may have the same numbers. When a full stream
# begins in the middle of a batch, the events before were there and have been trimmed: added again
# they would push out the newest ones.
_ADD = """
local stream, replay, longest, back = KEYS[1], ARGV[1], ARGV[2], tonumber(ARGV[3])
local first, known, looked, top, page = tonumber(ARGV[4]), {}, 0, '+', 1
local is_all = false
while looked < back do
  local rows = redis.call('XREVRANGE', stream, top, '-', 'COUNT', page)
  for _, row in ipairs(rows) do
    local entry = {}
    for at = 1, #row[2], 2 do entry[row[2][at]] = row[2][at + 1] end
    local seq = tonumber(entry['seq'] or '')
    if seq and (seq < first or entry['replay'] ~= replay) then looked = back end
    if seq and entry['id'] and entry['replay'] == replay then known[entry['id']] = true end
    top = '(' .. row[1]
  end
  if #rows < page then
    is_all = looked < back
    break
  end
  looked, page = looked + #rows, 100
end
local is_full = is_all and longest ~= '' and redis.call('XLEN', stream) >= tonumber(longest)
local start = 4
for at = 4, #ARGV, 6 do
  if is_full and known[ARGV[at + 1]] then
    start = at
    break
  end
end
local added = 0
for at = start, #ARGV, 6 do
  if not known[ARGV[at + 1]] then
    local entry = {'seq', ARGV[at], 'id', ARGV[at + 1], 'type', ARGV[at + 2], 'at', ARGV[at + 3],
      'feed_id', ARGV[at + 4], 'body', ARGV[at + 5], 'replay', replay}
    if longest == '' then
      redis.call('XADD', stream, '*', unpack(entry))
    else
      redis.call('XADD', stream, 'MAXLEN', '~', longest, '*', unpack(entry))
    end
    added = added + 1
  end
end
return added
"""

_BY_CLASS: tuple[tuple[type[Exception], str], ...] = (
    (redis_errors.AuthenticationError, "auth_failed"),
    (redis_errors.AuthenticationWrongNumberOfArgsError, "auth_failed"),
    (redis_errors.AuthorizationError, "auth_failed"),
    (redis_errors.NoPermissionError, "no_permission"),
    (redis_errors.BusyLoadingError, "loading"),
    (redis_errors.ReadOnlyError, "read_only"),
    (redis_errors.OutOfMemoryError, "out_of_memory"),
    (redis_errors.AskError, "cluster_moved"),
    (redis_errors.ClusterError, "cluster_down"),
    (redis_errors.TimeoutError, "timeout"),
    (TimeoutError, "timeout"),
    (redis_errors.ConnectionError, "connect_error"),
    (OSError, "connect_error"),
)
_BY_FIRST_WORD = {
    "WRONGTYPE": "wrong_type",
    "MISCONF": "cannot_persist",
    "NOREPLICAS": "too_few_replicas",
    "BUSY": "busy",
    "OOM": "out_of_memory",
    "READONLY": "read_only",
    "NOPERM": "no_permission",
}


class RedisStreamSink:
    """One connection to one server. A batch is added as a whole or not at all."""

    def __init__(
        self, url: BrokerUrl, database: int, options: Mapping[str, Any], secrets: Mapping[str, str]
    ) -> None:
        self._stream: str = options["stream"]
        self._longest = "" if options["max_length"] is None else str(options["max_length"])
        self._timeout: float = options["timeout_sec"]
        self._client = Redis(
            host=url.host,
            port=url.port,
            db=database,
            username=url.user,
            password=secrets.get("password"),
            ssl=url.scheme == "rediss",
            socket_timeout=self._timeout,
            socket_connect_timeout=self._timeout,
            protocol=2,
            client_name="headwater",
            # A connection that broke since the last batch is tried once more: the script may run
            # twice.
            retry=Retry(NoBackoff(), 1, (redis_errors.ConnectionError,)),
        )

    async def deliver(self, events: Sequence[WireEvent], *, replay: int) -> DeliveryResult:
        taken = 0
        for batch in batches(events, most_bytes=BATCH_BYTES, most=BATCH_EVENTS):
            try:
                async with asyncio.timeout(2 * self._timeout):
                    await self._add(batch, replay)
            except (redis_errors.RedisError, OSError, TimeoutError) as trouble:
                return await self._refusal_of(taken, batch, trouble)
            taken += len(batch)
        return DeliveryResult(taken)

    async def close(self) -> None:
        await self._client.aclose()

    async def _add(self, batch: Sequence[WireEvent], replay: int) -> None:
        values: list[str | bytes] = [str(replay), self._longest, str(LOOK_BACK)]
        for event in batch:
            values += (str(event.seq), event.event_id, event.type)
            values += (rfc3339_at(event.at), event.feed_id or "", event.body)
        # The annotation of redis-py allows text only; bytes work as they are.
        await cast(Any, self._client).eval(_ADD, 1, self._stream, *values)

    async def _refusal_of(
        self, taken: int, batch: Sequence[WireEvent], trouble: Exception
    ) -> DeliveryResult:
        code = _code_of(trouble)
        if len(batch[0].body) > BATCH_BYTES and await self._is_too_large(code, trouble):
            detail = (
                f"{len(batch[0].body)} bytes are more than the server takes: {error_text(trouble)}"
            )
            return DeliveryResult(taken, "event_too_large", detail, about="event")
        # After a failover the same name may lead to another server.
        await self._client.connection_pool.disconnect()
        return DeliveryResult(taken, code, error_text(trouble))

    async def _is_too_large(self, code: str, trouble: Exception) -> bool:
        """A server that refuses a large value closes the connection, mostly before we read its
        reason."""
        if "invalid bulk length" in str(trouble):
            return True
        if code != "connect_error":
            return False
        try:
            async with asyncio.timeout(self._timeout):
                return bool(await cast(Any, self._client).ping())
        except (redis_errors.RedisError, OSError, TimeoutError):
            return False


def _code_of(trouble: Exception) -> str:
    for kind, code in _BY_CLASS:
        if isinstance(trouble, kind):
            return code
    first, _, _ = str(trouble).partition(" ")
    return _BY_FIRST_WORD.get(first, "redis_error")
