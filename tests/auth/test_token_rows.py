"""Tokens and idempotency keys in the database, on both kinds."""

from datetime import UTC, datetime, timedelta
from typing import get_args

import pytest

from headwater.adapters.database import SqlDatabase
from headwater.auth import token_rows
from headwater.auth.tokens import Scope, has_right, same_token, token_hash, token_text
from headwater.core import idempotency_rows
from headwater.core.errors import ConflictError, NotFound
from headwater.core.idempotency import (
    Answered,
    Attempt,
    DoneBefore,
    Fresh,
    InProgress,
    Mismatch,
    attempt_of,
)

NOON = datetime(2026, 1, 5, 12, 0, tzinfo=UTC)
LEASE = timedelta(seconds=90)
ATTEMPT = attempt_of("key", "admin", "POST", "/feeds", b"{}")


async def begin(database: SqlDatabase, attempt: Attempt = ATTEMPT, after: float = 0) -> object:
    async with database.write() as tx:
        return await idempotency_rows.claim_key(tx, attempt, NOON + timedelta(seconds=after), LEASE)


async def test_a_key_is_taken_once_and_again_when_its_holder_is_dead(
    database: SqlDatabase,
) -> None:
    assert await begin(database) == Fresh()
    assert await begin(database, after=30) == InProgress(60.0)
    assert await begin(database, after=90) == Fresh()
    assert await begin(database, after=91) == InProgress(89.0)


async def test_a_key_stands_for_one_request(database: SqlDatabase) -> None:
    await begin(database)
    other = attempt_of("key", "admin", "POST", "/feeds", b"{ }")
    assert await begin(database, other) == Mismatch()


async def test_what_was_done_is_told_even_without_an_answer(database: SqlDatabase) -> None:
    await begin(database)
    async with database.write() as tx:
        await idempotency_rows.set_key_resource(tx, ATTEMPT.key_hash, "feed")
    assert await begin(database, after=1000) == DoneBefore("feed")
    async with database.write() as tx:
        await idempotency_rows.release_key(tx, ATTEMPT.key_hash)  # an effect is never let go
        await idempotency_rows.set_key_answer(tx, ATTEMPT.key_hash, 201, '{"a":"\\n"}', "/feeds/x")
    assert await begin(database) == Answered(201, '{"a":"\\n"}', "/feeds/x")
    async with database.write() as tx:
        await idempotency_rows.set_key_answer(tx, ATTEMPT.key_hash, 200, "{}", None)
    assert await begin(database) == Answered(200, "{}", None)


async def test_only_one_effect_can_be_remembered(database: SqlDatabase) -> None:
    await begin(database)
    async with database.write() as tx:
        await idempotency_rows.set_key_resource(tx, ATTEMPT.key_hash, "first")
    with pytest.raises(ConflictError):
        async with database.write() as tx:
            await idempotency_rows.set_key_resource(tx, ATTEMPT.key_hash, "second")
    with pytest.raises(ConflictError):
        async with database.write() as tx:
            await idempotency_rows.set_key_resource(tx, b"a key nobody took", "third")


async def test_a_key_let_go_is_free(database: SqlDatabase) -> None:
    await begin(database)
    async with database.write() as tx:
        await idempotency_rows.release_key(tx, ATTEMPT.key_hash)
    assert await begin(database) == Fresh()


async def test_keys_are_forgotten_by_age(database: SqlDatabase) -> None:
    await begin(database)
    async with database.write() as tx:
        assert await idempotency_rows.delete_old_keys(tx, NOON) == 0
        assert await idempotency_rows.delete_old_keys(tx, NOON + timedelta(seconds=1)) == 1


async def test_a_token_lives_until_it_is_revoked(database: SqlDatabase) -> None:
    secret = token_text(b"\x01" * 32)
    async with database.write() as tx:
        made = await token_rows.insert_token(tx, "laptop", "read", token_hash(secret), NOON)
        assert await token_rows.find_valid_token(tx, token_hash(secret)) == made
        assert await token_rows.find_valid_token(tx, token_hash(secret + "x")) is None
        await token_rows.revoke_token(tx, made.id, NOON)
        assert await token_rows.find_valid_token(tx, token_hash(secret)) is None
        with pytest.raises(NotFound):
            await token_rows.revoke_token(tx, made.id + 1, NOON)


def test_keys_of_two_callers_and_parts_that_run_together_differ() -> None:
    assert attempt_of("k", "a", "POST", "/x", b"").key_hash != (
        attempt_of("k", "b", "POST", "/x", b"").key_hash
    )
    assert attempt_of("k", "a", "POST", "/x", b"y").request_hash != (
        attempt_of("k", "a", "POST", "/xy", b"").request_hash
    )


def test_a_key_stands_for_one_method_too() -> None:
    assert attempt_of("k", "a", "POST", "/x", b"").request_hash != (
        attempt_of("k", "a", "PUT", "/x", b"").request_hash
    )


def test_who_does_not_know_the_key_cannot_try_out_bodies() -> None:
    """The same short body under two keys looks like two bodies."""
    body = b'{"secret":"1234"}'
    assert attempt_of("k", "a", "POST", "/x", body).request_hash != (
        attempt_of("l", "a", "POST", "/x", body).request_hash
    )


def test_each_scope_opens_its_own_and_an_admin_opens_all() -> None:
    opened = {
        "read": {"read"},
        "publish": {"publish"},
        "register": {"register"},
        "fetcher": {"fetcher"},
        "admin": {"read", "publish", "register", "fetcher", "admin"},
    }
    for scope in get_args(Scope):
        assert {right for right in get_args(Scope) if has_right(scope, right)} == opened[scope]


def test_an_admin_may_read_and_a_reader_may_not_administer() -> None:
    assert has_right("admin", "read")
    assert has_right("admin", "publish")
    assert not has_right("read", "admin")
    assert not has_right("publish", "read")


def test_tokens_compare_whole() -> None:
    assert same_token("abc", "abc")
    assert not same_token("abc", "abd")
    assert not same_token("abcd", "abc")
    assert not same_token("abc", "abcd")
    assert not same_token("", "abc")
    assert not same_token("\ud800", "abc")
    assert token_text(b"\xff" * 32) == "hw_" + "_" * 42 + "8"
