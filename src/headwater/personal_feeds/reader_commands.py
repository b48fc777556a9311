"""Commands of readers: create, change and remove them, and issue, rotate and revoke their tokens.

Readers may be stored outside the database that has the Idempotency-Keys. So the id of a new reader
or token comes from the key of its request: a second try after a crash finds the first one's result.
"""

import secrets
from base64 import urlsafe_b64encode
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from uuid import UUID, uuid5

import orjson
from uuid_utils import uuid7

from headwater.auth.tokens import SECRET_BYTES, token_hash
from headwater.core.errors import BadInput, ConflictError, NotFound
from headwater.core.idempotency_rows import set_key_resource
from headwater.core.ports import Database
from headwater.core.telemetry.log import get_logger
from headwater.core.values.instant import to_micros
from headwater.personal_feeds import source_rows
from headwater.personal_feeds.ports import FeedReader, PersonalStore, ReaderToken
from headwater.personal_feeds.services import PersonalServices
from headwater.personal_feeds.source import CategorySource

TOKEN_PREFIX = "hwr_"  # noqa: S105 -- the beginning of tokens, for people and scanners
HINT_LENGTH = len(TOKEN_PREFIX) + 4
LONGEST_NAME = 200
LONGEST_CATEGORY = 1_024
_LONGEST_ID = 1_024
_FROM_KEYS = UUID("0197a3c2-51d4-7e0b-9c52-6f2d0e8b7a11")

logger = get_logger("readers")


@dataclass(frozen=True, slots=True)
class ReaderLimits:
    """Limits for readers.

    `allowed` are the only names of categories that there may be; empty: any.
    """

    readers: int = 10_000
    categories: int = 500
    tokens: int = 20
    grace: timedelta = timedelta(hours=24)
    allowed: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class IssuedToken:
    """A new token. `secret` can be shown this once; None: an earlier try of the request made it."""

    token: ReaderToken
    secret: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class RotatedToken:
    """The new token, and the old one, with the end that it has now."""

    issued: IssuedToken
    replaced: ReaderToken


async def list_readers(store: PersonalStore) -> list[FeedReader]:
    """Readers in the order they were made."""
    return sorted(await store.readers(), key=reader_position)


async def find_reader_by_name(store: PersonalStore, name: str) -> FeedReader | None:
    return await store.reader_named(name) if _is_storable(name) else None


async def get_reader(store: PersonalStore, reader_id: str) -> FeedReader:
    reader = await store.reader(reader_id) if _is_storable(reader_id) else None
    if reader is None:
        raise _no_such_reader()
    return reader


async def create_reader(
    services: PersonalServices,
    name: str,
    categories: Sequence[str],
    limits: ReaderLimits,
    *,
    idempotency: bytes | None = None,
) -> FeedReader:
    """BadInput names the field that is wrong; Conflict when the name is taken."""
    _check_name(name)
    _check_categories(categories, limits)
    reader_id = _new_id(idempotency, "reader", name, *categories)
    now = to_micros(services.clock.now())
    new = FeedReader(reader_id, name, tuple(categories), created_at=now, changed_at=now)
    # An earlier try of this request may have made it.
    reader = None if idempotency is None else await services.store.reader(reader_id)
    if reader is None:
        reader = await services.store.add_reader(new, most=limits.readers)
        logger.info("reader_made", reader=reader.id, categories=len(reader.categories))
    await _record_resource(services.database, idempotency, reader.id)
    return reader


async def change_reader(
    services: PersonalServices,
    reader_id: str,
    limits: ReaderLimits,
    *,
    name: str | None = None,
    categories: Sequence[str] | None = None,
) -> FeedReader:
    """Change the values that are not None. `categories` are all that the reader follows then."""
    if name is not None:
        _check_name(name)
    if categories is not None:
        _check_categories(categories, limits)
    reader = await get_reader(services.store, reader_id)
    if name is None and categories is None:
        return reader
    now = to_micros(services.clock.now())
    changed = await services.store.change_reader(
        reader.id, name=name, categories=categories, now=now
    )
    if changed is None:
        raise _no_such_reader()
    logger.info("reader_changed", reader=changed.id, categories=len(changed.categories))
    return changed


async def remove_reader(services: PersonalServices, reader_id: str) -> FeedReader:
    """Remove a reader, and return it as it was. Its tokens open nothing from this moment."""
    reader = await get_reader(services.store, reader_id)
    if not await services.store.remove_reader(reader.id, to_micros(services.clock.now())):
        raise _no_such_reader()
    logger.info("reader_removed", reader=reader.id)
    return reader


async def list_tokens(store: PersonalStore, reader_id: str) -> list[ReaderToken]:
    """Tokens, oldest first, ended ones too."""
    return await store.tokens((await get_reader(store, reader_id)).id)


async def get_token(store: PersonalStore, reader_id: str, token_id: str) -> ReaderToken:
    return _find_token(await list_tokens(store, reader_id), token_id)


async def issue_token(
    services: PersonalServices,
    reader_id: str,
    limits: ReaderLimits,
    *,
    idempotency: bytes | None = None,
) -> IssuedToken:
    """A new token; Conflict when the reader has as many open tokens as there may be."""
    tokens = await list_tokens(services.store, reader_id)
    new_id = _new_id(idempotency, "token", reader_id)
    issued = await _issue(services, tokens, reader_id, new_id, most=limits.tokens)
    await _record_resource(services.database, idempotency, issued.token.id)
    return issued


async def rotate_token(
    services: PersonalServices,
    reader_id: str,
    token_id: str,
    limits: ReaderLimits,
    *,
    grace: timedelta | None = None,
    idempotency: bytes | None = None,
) -> RotatedToken:
    """A new token; the old one works beside it until `grace` is over. The new one comes first, so
    that a crash between the two leaves nobody without a feed."""
    tokens = await list_tokens(services.store, reader_id)
    old = _find_token(tokens, token_id)
    now = to_micros(services.clock.now())
    new_id = _new_id(idempotency, "rotated", reader_id, token_id)
    if all(each.id != new_id for each in tokens):
        _check_open(old, now)
    wait = limits.grace if grace is None else grace
    # Old ones in their grace count beside the new ones: all of a reader's may be rotated at once.
    most = 2 * limits.tokens + (0 if wait else 1)
    issued = await _issue(services, tokens, reader_id, new_id, most=most)
    until = now + wait // timedelta(microseconds=1)
    await services.store.end_token(old.id, until=until, revoked=False, now=now)
    await _record_resource(services.database, idempotency, issued.token.id)
    logger.info("reader_token_rotated", reader=reader_id, token=old.id, new_token=issued.token.id)
    return RotatedToken(issued, await get_token(services.store, reader_id, old.id))


async def revoke_token(services: PersonalServices, reader_id: str, token_id: str) -> ReaderToken:
    """Revoke a token: it opens nothing from this moment. A second time changes nothing."""
    token = await get_token(services.store, reader_id, token_id)
    if token.revoked_at is not None:
        return token
    now = to_micros(services.clock.now())
    await services.store.end_token(token.id, until=now, revoked=True, now=now)
    logger.info("reader_token_revoked", reader=reader_id, token=token.id)
    return await get_token(services.store, reader_id, token_id)


async def list_sources(database: Database, reader: FeedReader) -> list[CategorySource]:
    """The feeds whose new entries come into one of the reader's categories."""
    async with database.read() as view:
        return await source_rows.list_category_sources(view, reader.categories)


def reader_position(reader: FeedReader) -> tuple[int, int]:
    """The position of a reader in the list of all: two numbers that never change."""
    return reader.created_at, int.from_bytes(token_hash(reader.id)[:7])


async def _issue(
    services: PersonalServices,
    tokens: Iterable[ReaderToken],
    reader_id: str,
    token_id: str,
    *,
    most: int,
) -> IssuedToken:
    """A new token; one without its secret when an earlier try of this request made it."""
    for token in tokens:
        if token.id == token_id:
            return IssuedToken(token)
    secret = (
        TOKEN_PREFIX + urlsafe_b64encode(secrets.token_bytes(SECRET_BYTES)).rstrip(b"=").decode()
    )
    now = to_micros(services.clock.now())
    new = ReaderToken(token_id, reader_id, hint=secret[:HINT_LENGTH], created_at=now)
    await services.store.add_token(new, token_hash(secret), most=most)
    logger.info("reader_token_issued", reader=reader_id, token=token_id)
    return IssuedToken(new, secret)


async def _record_resource(database: Database, idempotency: bytes | None, resource: str) -> None:
    if idempotency is None:
        return
    async with database.write() as tx:
        await set_key_resource(tx, idempotency, resource)


def _new_id(idempotency: bytes | None, *about: str) -> str:
    """An id from the key of the request.

    `about` is in it too: a key that is free again may be used for something else.
    """
    if idempotency is None:
        return str(uuid7())
    return str(uuid5(_FROM_KEYS, orjson.dumps([idempotency.hex(), *about]).decode()))


def _find_token(tokens: Iterable[ReaderToken], token_id: str) -> ReaderToken:
    for token in tokens:
        if token.id == token_id:
            return token
    raise NotFound("There is no such token.", what="token")


def _is_storable(text: str) -> bool:
    """False for a text that no store can hold; it need not be looked for."""
    if not 0 < len(text) <= _LONGEST_ID or "\x00" in text:
        return False
    return not any("\ud800" <= character <= "\udfff" for character in text)


def _no_such_reader() -> NotFound:
    return NotFound("There is no such reader.", what="reader")


def _check_name(name: str) -> None:
    if not _is_storable(name) or len(name) > LONGEST_NAME or not name.strip():
        raise BadInput(f"A name has 1 to {LONGEST_NAME} characters.", field="name")


def _check_categories(names: Sequence[str], limits: ReaderLimits) -> None:
    """Exact names: nothing in one is a pattern, and blanks count."""
    if len(names) > limits.categories:
        raise BadInput(
            f"A reader may follow {limits.categories} categories.",
            field="categories",
            personal_reader_categories_max=limits.categories,
        )
    if len(set(names)) != len(names):
        raise BadInput("A category is named twice.", field="categories")
    if any(not _is_storable(name) or len(name) > LONGEST_CATEGORY for name in names):
        raise BadInput(
            f"A category's name has 1 to {LONGEST_CATEGORY} characters, none of them NUL.",
            field="categories",
        )
    unknown = [name for name in names if limits.allowed and name not in limits.allowed]
    if unknown:
        raise BadInput(
            f"Not a category that the settings allow: {unknown[0][:100]}",
            field="categories",
            allowed=sorted(limits.allowed)[:100],
        )


def _check_open(token: ReaderToken, now: int) -> None:
    if not token.is_open(now):
        raise ConflictError("This token opens nothing any more: issue a new one.", reason="ended")
    if token.until is not None:
        raise ConflictError(
            "This token was rotated already: rotate its successor.", reason="rotated"
        )
