"""What people ask of readers: make, rename and remove them, say what they follow, give them tokens.

Readers may be kept outside the database that remembers Idempotency-Keys. So the id of what a
request makes comes from its key: a second try after a crash finds what the first one made.
"""

import secrets as luck
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

TOKEN_PREFIX = "hwr_"  # noqa: S105 -- how tokens begin, so that people and scanners know one
HINT_LENGTH = len(TOKEN_PREFIX) + 4
LONGEST_NAME = 200
LONGEST_CATEGORY = 1_024
_LONGEST_ID = 1_024
_FROM_KEYS = UUID("0197a3c2-51d4-7e0b-9c52-6f2d0e8b7a11")

logger = get_logger("readers")


@dataclass(frozen=True, slots=True)
class ReaderLimits:
    """`allowed` are the only category names there may be; empty: any."""

    readers: int = 10_000
    categories: int = 500
    tokens: int = 20
    grace: timedelta = timedelta(hours=24)
    allowed: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class IssuedToken:
    """`secret` can be shown this once. None: it was shown, or lost, when the token was made."""

    token: ReaderToken
    secret: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class RotatedToken:
    """The token that came, and the one that goes, with the end it has now."""

    issued: IssuedToken
    replaced: ReaderToken


async def list_readers(store: PersonalStore) -> list[FeedReader]:
    """In the order they were made."""
    return sorted(await store.readers(), key=reader_position)


async def find_reader_by_name(store: PersonalStore, name: str) -> FeedReader | None:
    return await store.reader_named(name) if _can_be_kept(name) else None


async def get_reader(store: PersonalStore, reader_id: str) -> FeedReader:
    found = await store.reader(reader_id) if _can_be_kept(reader_id) else None
    if found is None:
        raise _no_such_reader()
    return found


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
    reader_id = _made_id(idempotency, "reader", name, *categories)
    now = to_micros(services.clock.now())
    new = FeedReader(reader_id, name, tuple(categories), created_at=now, changed_at=now)
    made = await _find_made_before(services.store, reader_id, idempotency)
    if made is None:
        made = await services.store.add_reader(new, most=limits.readers)
        logger.info("reader_made", reader=made.id, categories=len(made.categories))
    await _record_resource(services.database, idempotency, made.id)
    return made


async def change_reader(
    services: PersonalServices,
    reader_id: str,
    limits: ReaderLimits,
    *,
    name: str | None = None,
    categories: Sequence[str] | None = None,
) -> FeedReader:
    """None: as it was. `categories` are all that the reader follows from now on."""
    if name is not None:
        _check_name(name)
    if categories is not None:
        _check_categories(categories, limits)
    there = await get_reader(services.store, reader_id)
    if name is None and categories is None:
        return there
    now = to_micros(services.clock.now())
    changed = await services.store.change_reader(
        there.id, name=name, categories=categories, now=now
    )
    if changed is None:
        raise _no_such_reader()
    logger.info("reader_changed", reader=changed.id, categories=len(changed.categories))
    return changed


async def remove_reader(services: PersonalServices, reader_id: str) -> FeedReader:
    """As it was. Its tokens go with it, and open nothing from this moment."""
    there = await get_reader(services.store, reader_id)
    if not await services.store.remove_reader(there.id, to_micros(services.clock.now())):
        raise _no_such_reader()
    logger.info("reader_removed", reader=there.id)
    return there


async def list_tokens(store: PersonalStore, reader_id: str) -> list[ReaderToken]:
    """Oldest first, ended ones too."""
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
    """Conflict when the reader has as many open tokens as there may be."""
    there = await list_tokens(services.store, reader_id)
    new_id = _made_id(idempotency, "token", reader_id)
    issued = await _issued(services, there, reader_id, new_id, most=limits.tokens)
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
    there = await list_tokens(services.store, reader_id)
    old = _find_token(there, token_id)
    now = to_micros(services.clock.now())
    new_id = _made_id(idempotency, "rotated", reader_id, token_id)
    if all(each.id != new_id for each in there):
        _check_open(old, now)
    wait = limits.grace if grace is None else grace
    # Old ones in their grace stand beside the new ones: all of a reader's may be rotated at once.
    most = 2 * limits.tokens + (0 if wait else 1)
    issued = await _issued(services, there, reader_id, new_id, most=most)
    until = now + wait // timedelta(microseconds=1)
    await services.store.end_token(old.id, until=until, revoked=False, now=now)
    await _record_resource(services.database, idempotency, issued.token.id)
    logger.info("reader_token_rotated", reader=reader_id, token=old.id, new_token=issued.token.id)
    return RotatedToken(issued, await get_token(services.store, reader_id, old.id))


async def revoke_token(services: PersonalServices, reader_id: str, token_id: str) -> ReaderToken:
    """From this moment it opens nothing. Revoking twice is revoking once."""
    there = await get_token(services.store, reader_id, token_id)
    if there.revoked_at is not None:
        return there
    now = to_micros(services.clock.now())
    await services.store.end_token(there.id, until=now, revoked=True, now=now)
    logger.info("reader_token_revoked", reader=reader_id, token=there.id)
    return await get_token(services.store, reader_id, token_id)


async def list_sources(database: Database, of: FeedReader) -> list[CategorySource]:
    """The feeds whose new entries come into one of the reader's categories."""
    async with database.read() as view:
        return await source_rows.list_category_sources(view, of.categories)


def reader_position(each: FeedReader) -> tuple[int, int]:
    """Where a reader stands in the list of all: two numbers that never change."""
    return each.created_at, int.from_bytes(token_hash(each.id)[:7])


async def _find_made_before(
    store: PersonalStore, reader_id: str, idempotency: bytes | None
) -> FeedReader | None:
    """What an earlier try of this very request made."""
    return None if idempotency is None else await store.reader(reader_id)


async def _issued(
    services: PersonalServices,
    there: Iterable[ReaderToken],
    reader_id: str,
    token_id: str,
    *,
    most: int,
) -> IssuedToken:
    """Without its secret when an earlier try of this very request made it."""
    for each in there:
        if each.id == token_id:
            return IssuedToken(each)
    secret = TOKEN_PREFIX + urlsafe_b64encode(luck.token_bytes(SECRET_BYTES)).rstrip(b"=").decode()
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


def _made_id(idempotency: bytes | None, *about: str) -> str:
    """What a key may be used for again, once it is free, is a part of the id too."""
    if idempotency is None:
        return str(uuid7())
    return str(uuid5(_FROM_KEYS, orjson.dumps([idempotency.hex(), *about]).decode()))


def _find_token(there: Iterable[ReaderToken], token_id: str) -> ReaderToken:
    for each in there:
        if each.id == token_id:
            return each
    raise NotFound("There is no such token.", what="token")


def _can_be_kept(text: str) -> bool:
    """What no store can hold need not be looked for."""
    if not 0 < len(text) <= _LONGEST_ID or "\x00" in text:
        return False
    return not any("\ud800" <= letter <= "\udfff" for letter in text)


def _no_such_reader() -> NotFound:
    return NotFound("There is no such reader.", what="reader")


def _check_name(name: str) -> None:
    if not _can_be_kept(name) or len(name) > LONGEST_NAME or not name.strip():
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
    if any(not _can_be_kept(name) or len(name) > LONGEST_CATEGORY for name in names):
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


def _check_open(old: ReaderToken, now: int) -> None:
    if not old.is_open(now):
        raise ConflictError("This token opens nothing any more: issue a new one.", reason="ended")
    if old.until is not None:
        raise ConflictError(
            "This token was rotated already: rotate its successor.", reason="rotated"
        )
