"""The connection to Redis: scripts, plain commands, and its errors as ours."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from hashlib import sha1
from typing import Any, cast

from redis import exceptions as redis_errors
from redis.asyncio import BlockingConnectionPool, Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff

from headwater.core.errors import BadSettings, ConnectionLost, DatabaseRefused

RedisArgument = str | bytes | int

TIMEOUT = 5.0
CONNECTIONS = 16
LONGEST_DETAIL = 300
SERVER_NAME = "Redis"

_AWAY = (
    redis_errors.ConnectionError,  # also: wrong password, still loading
    redis_errors.TimeoutError,
    redis_errors.ReadOnlyError,
    redis_errors.ClusterError,
    redis_errors.AskError,
    OSError,
    TimeoutError,
)
"""Errors that pass when the server is back, or when it is the right one again."""


@dataclass(frozen=True, slots=True)
class Script:
    """A Lua script, which runs atomically.

    The server knows it by its SHA-1 after the first time.
    """

    text: str
    name: str = field(init=False)

    def __post_init__(self) -> None:
        named = sha1(self.text.encode(), usedforsecurity=False).hexdigest()
        object.__setattr__(self, "name", named)


class RedisConnection:
    """A few connections to one server, made when they are needed and made again when they break.

    Nothing takes longer than twice `timeout`. ConnectionLost when the server is away.
    """

    def __init__(
        self, url: str, *, timeout: float = TIMEOUT, connections: int = CONNECTIONS
    ) -> None:
        self._timeout = timeout
        try:
            pool = BlockingConnectionPool.from_url(
                url,
                max_connections=connections,
                timeout=timeout,
                socket_timeout=timeout,
                socket_connect_timeout=timeout,
                protocol=2,
                client_name="headwater",
                # A connection that broke since the last command is tried once more.
                retry=Retry(NoBackoff(), 1, (redis_errors.ConnectionError,)),
            )
        except ValueError:
            # The library's message may have the address in it, with its password.
            raise BadSettings(
                "personal_redis_url must be like redis://host:6379/0, rediss://… or unix:///path"
            ) from None
        self._client: Any = Redis.from_pool(pool)

    async def run(self, script: Script, *words: RedisArgument) -> Any:
        async with self._translate_errors():
            try:
                return await self._client.evalsha(script.name, 0, *words)
            except redis_errors.NoScriptError:
                return await self._client.eval(script.text, 0, *words)

    async def ask(self, *words: RedisArgument) -> Any:
        """One plain command."""
        async with self._translate_errors():
            return await self._client.execute_command(*words)

    async def facts(self, section: str) -> dict[str, Any]:
        """A section of the server's INFO."""
        async with self._translate_errors():
            return cast(dict[str, Any], await self._client.info(section))

    async def close(self) -> None:
        await self._client.aclose(close_connection_pool=True)

    @asynccontextmanager
    async def _translate_errors(self) -> AsyncIterator[None]:
        try:
            async with asyncio.timeout(2 * self._timeout):
                yield
        except _AWAY as trouble:
            if isinstance(trouble, redis_errors.ReadOnlyError):
                # After a failover the same name leads to another server.
                await self._client.connection_pool.disconnect(inuse_connections=False)
            raise ConnectionLost(
                f"Redis cannot be reached: {_error_text(trouble)}", place=SERVER_NAME
            ) from trouble
        except redis_errors.RedisError as trouble:
            raise DatabaseRefused(
                f"Redis refused: {_error_text(trouble)}", place=SERVER_NAME
            ) from trouble


def _error_text(trouble: BaseException) -> str:
    return " ".join(str(trouble).split())[:LONGEST_DETAIL] or type(trouble).__name__
