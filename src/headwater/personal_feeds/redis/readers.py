"""Readers and their tokens in Redis, by hash; other tools' plain tokens are upgraded."""

from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any
from uuid import UUID

from headwater.core.errors import ConflictError, DatabaseRefused, NotFound
from headwater.core.ports import Clock
from headwater.core.values.instant import to_micros
from headwater.personal_feeds.item_json import json_of
from headwater.personal_feeds.ports import FeedReader, ReaderToken, TokenHolder
from headwater.personal_feeds.redis import reader_scripts
from headwater.personal_feeds.redis.connection import RedisArgument, RedisConnection, Script
from headwater.personal_feeds.redis.keys import (
    PLAIN_TOKEN_PREFIX,
    encode_name,
    plain_token_key,
    printable_name,
)
from headwater.personal_feeds.redis.other_tools import parse_categories

AT_ONCE = 500
TRIES = 8


async def reader_ids(connection: RedisConnection) -> list[bytes]:
    ids: list[bytes] = await connection.ask("HVALS", "rss:readers")
    return ids


async def list_readers(connection: RedisConnection) -> list[FeedReader]:
    """All readers, by name."""
    ids = await reader_ids(connection)
    readers: list[FeedReader] = []
    for start in range(0, len(ids), AT_ONCE):
        rows = await connection.run(reader_scripts.READERS, *ids[start : start + AT_ONCE])
        readers += (_reader_of(row) for row in rows if row is not None)
    return sorted(readers, key=lambda reader: reader.name)


async def find_reader(connection: RedisConnection, reader_id: str) -> FeedReader | None:
    (row,) = await connection.run(reader_scripts.READERS, encode_name(reader_id))
    return None if row is None else _reader_of(row)


async def find_reader_by_name(connection: RedisConnection, name: str) -> FeedReader | None:
    reader_id = await connection.ask("HGET", "rss:readers", encode_name(name))
    return None if reader_id is None else await find_reader(connection, printable_name(reader_id))


async def add_reader(
    connection: RedisConnection, new: FeedReader, *, most: int, clock: int
) -> FeedReader:
    answer = await connection.run(
        reader_scripts.ADD_READER,
        clock,
        encode_name(new.id),
        encode_name(new.name),
        new.created_at,
        new.changed_at,
        json_of(list(new.categories)),
        most,
    )
    match answer:
        case b"name":
            raise _name_taken(new.name)
        case b"id":
            raise ConflictError("There is a reader with this id already.", id=new.id)
        case b"most":
            raise ConflictError(f"There are {most} readers already.", most=most)
    return new


async def change_reader(
    connection: RedisConnection,
    reader_id: str,
    *,
    name: str | None,
    categories: Sequence[str] | None,
    now: int,
    clock: int,
) -> FeedReader | None:
    """Change a reader; the same values as before are no change."""
    for _ in range(TRIES):
        (row,) = await connection.run(reader_scripts.READERS, encode_name(reader_id))
        if row is None:
            return None
        old = _reader_of(row)
        followed = old.categories if categories is None else tuple(categories)
        new_name = old.name if name is None else name
        if (new_name, followed) == (old.name, old.categories):
            return old
        new = FeedReader(old.id, new_name, followed, old.created_at, max(now, old.changed_at))
        written: RedisArgument = row[4] if followed == old.categories else json_of(list(followed))
        arguments = (
            encode_name(reader_id),
            encode_name(new_name),
            written,
            new.changed_at,
            row[1],
            row[4],
        )
        answer = await connection.run(reader_scripts.CHANGE_READER, clock, *arguments)
        if answer == b"name":
            raise _name_taken(new.name)
        if answer == b"ok":
            return new
    raise DatabaseRefused("Redis: a reader is changed by others all the time.")


async def remove_reader(connection: RedisConnection, reader_id: str, now: int, clock: int) -> bool:
    return bool(
        await connection.run(reader_scripts.REMOVE_READER, clock, encode_name(reader_id), now)
    )


async def add_token(
    connection: RedisConnection, token: ReaderToken, token_hash: bytes, *, most: int, clock: int
) -> None:
    answer = await connection.run(
        reader_scripts.ADD_TOKEN,
        clock,
        token_hash.hex(),
        encode_name(token.id),
        encode_name(token.reader_id),
        encode_name(token.hint),
        token.created_at,
        _moment_or_empty(token.until),
        _moment_or_empty(token.revoked_at),
        _moment_or_empty(token.last_used_at),
        most,
    )
    match answer:
        case b"reader":
            raise NotFound("There is no such reader.", what="reader")
        case b"most":
            raise ConflictError(f"This reader has {most} open tokens already.", most=most)
        case b"token":
            raise ConflictError("There is such a token already.", id=token.id)


async def tokens_with_hashes(
    connection: RedisConnection, reader_id: str
) -> list[tuple[ReaderToken, bytes]]:
    """A reader's tokens with their hashes, oldest first."""
    rows = await connection.run(reader_scripts.TOKENS, encode_name(reader_id))
    tokens = [(_token_of(row), bytes.fromhex(row[0].decode())) for row in rows]
    return sorted(tokens, key=lambda each: (each[0].created_at, each[0].id))


async def end_token(
    connection: RedisConnection, token_id: str, *, until: int, revoked: bool, now: int, clock: int
) -> bool:
    arguments = (encode_name(token_id), until, int(revoked), now)
    return bool(await connection.run(reader_scripts.END_TOKEN, clock, *arguments))


async def note_used(connection: RedisConnection, used: Mapping[str, int]) -> None:
    words = [word for token_id, at in used.items() for word in (encode_name(token_id), at)]
    for start in range(0, len(words), 2 * AT_ONCE):
        await connection.run(reader_scripts.NOTE_USED, *words[start : start + 2 * AT_ONCE])


async def find_token_holder(
    connection: RedisConnection, token_hash: bytes, plain: str, now: int, clock: int
) -> TokenHolder | None:
    """The holder of a token. A plain token is upgraded first; then it is found by its hash."""
    place = plain_token_key(plain)
    answer = await connection.run(reader_scripts.FIND_HOLDER, now, token_hash.hex(), place)
    if answer == b"upgrade":
        arguments = (token_hash.hex(), place, token_id_of(token_hash), hint_of(plain))
        if not await connection.run(reader_scripts.UPGRADE_TOKEN, clock, *arguments):
            return None
        answer = await connection.run(reader_scripts.FIND_HOLDER, now, token_hash.hex(), place)
    if not isinstance(answer, list):
        return None
    token_id, until, row = answer
    return TokenHolder(
        _reader_of(row), printable_name(token_id), None if until is None else int(until)
    )


def token_id_of(token_hash: bytes) -> str:
    """The id of a token that another tool made: every process makes the same one."""
    return str(UUID(bytes=sha256(token_hash).digest()[:16]))


def hint_of(plain: str) -> str:
    """The beginning of a token, and little of it: another tool's token may be short."""
    return plain[: min(6, len(plain) // 4)]


def _reader_of(row: Sequence[Any]) -> FeedReader:
    reader_id, name, created_at, changed_at, followed = row
    return FeedReader(
        id=printable_name(reader_id),
        name=printable_name(name),
        categories=parse_categories(followed) or (),
        created_at=int(created_at),
        changed_at=int(changed_at),
    )


def _token_of(row: Sequence[Any]) -> ReaderToken:
    _, token_id, reader_id, hint, created_at, until, revoked_at, used = row
    return ReaderToken(
        id=printable_name(token_id),
        reader_id=printable_name(reader_id),
        hint=printable_name(hint),
        created_at=int(created_at),
        until=None if until is None else int(until),
        revoked_at=None if revoked_at is None else int(revoked_at),
        last_used_at=None if used is None else int(used),
    )


def _moment_or_empty(moment: int | None) -> RedisArgument:
    return "" if moment is None else moment


def _name_taken(name: str) -> ConflictError:
    return ConflictError("There is a reader of this name already.", name=name)


REMEMBERED_SECONDS = 60.0
KEYS = 500

_PAGE = Script("""
local page = redis.call('SCAN', ARGV[1], 'MATCH', 'rss:token:*', 'COUNT', ARGV[2])
local rows = {}
for _, key in ipairs(page[2]) do
  local id = string.sub(key, 11, 17) ~= 'sha256:' and redis.pcall('GET', key)
  if type(id) == 'string' then rows[#rows + 1] = {key, id, redis.call('PTTL', key)} end
end
return {page[1], rows}
""")
TokensByReader = dict[str, list[tuple[ReaderToken, bytes]]]


class PlainTokens:
    """Tokens that other tools wrote in plain, remembered for a minute."""

    def __init__(self, connection: RedisConnection, clock: Clock) -> None:
        self._connection, self._clock = connection, clock
        self._tokens: TokensByReader = {}
        self._read_at: float | None = None

    async def of(self, reader_id: str) -> list[tuple[ReaderToken, bytes]]:
        """A reader's plain tokens, with the ids that they get when they are used."""
        passed = self._clock.monotonic()
        if self._read_at is None or passed - self._read_at > REMEMBERED_SECONDS:
            self._tokens = await self._read_all()
            self._read_at = passed
        return self._tokens.get(reader_id, [])

    async def _read_all(self) -> TokensByReader:
        now = to_micros(self._clock.now())
        tokens: TokensByReader = {}
        cursor = b""
        while cursor != b"0":
            cursor, rows = await self._connection.run(_PAGE, cursor or b"0", KEYS)
            for key, reader_id, left in rows:
                plain = key[len(PLAIN_TOKEN_PREFIX) :]
                token_hash = sha256(plain).digest()
                until = now + left * 1000 if left > 0 else None
                hint = hint_of(printable_name(plain))
                token = ReaderToken(
                    token_id_of(token_hash), printable_name(reader_id), hint, now, until
                )
                tokens.setdefault(token.reader_id, []).append((token, token_hash))
        return tokens
