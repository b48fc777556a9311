"""Readers and tokens that another tool left in Redis: they work, and their secrets go."""

from typing import Any

import pytest
import structlog

from headwater.auth.tokens import token_hash
from headwater.personal_feeds.ports import FeedReader, PersonalChanges, TokenHolder
from headwater.personal_feeds.redis import pickup
from headwater.personal_feeds.redis.store import PersonalRedis
from tests.support.clock import VirtualClock
from tests.support.log_lines import heard
from tests.support.personal_items import BEGIN, DAY, SECOND, a_reader, with_token
from tests.support.personal_redis import elsewhere, own_server, pen, store

__all__ = ["elsewhere", "own_server", "pen", "store"]


async def opens(store: PersonalRedis, token: str, now: int = BEGIN) -> TokenHolder | None:
    return await store.holder(token_hash(token), token, now)


async def test_a_plain_token_works_and_is_kept_by_its_hash_from_then_on(
    store: PersonalRedis, elsewhere: PersonalRedis, pen: Any
) -> None:
    await pen.set("rss:token:open-sesame", "mia")
    await pen.set("rss:user:mia:categories", '["news", "a:*", "news", 7]')
    holder = await opens(store, "open-sesame")
    assert holder is not None
    assert holder.reader == FeedReader("mia", "mia", ("news", "a:*"), BEGIN, BEGIN)
    assert await pen.exists("rss:token:open-sesame") == 0
    assert await pen.get(f"rss:token:sha256:{token_hash('open-sesame').hex()}") == "mia"
    assert await opens(elsewhere, "open-sesame") == holder
    (token,) = await store.tokens("mia")
    assert (token.id, token.hint, token.until) == (holder.token_id, "op", None)


async def test_no_secret_is_left_in_redis(store: PersonalRedis, pen: Any) -> None:
    secret = "sekrit-0123456789"
    await pen.set(f"rss:token:{secret}", "mia")
    await opens(store, secret)
    await opens(store, "a-guess-of-somebody")
    keys = await pen.keys("*")
    assert f"rss:token:sha256:{token_hash(secret).hex()}" in keys
    for key in keys:
        kind = await pen.type(key)
        if kind == "string":
            words = await pen.get(key)
        elif kind == "hash":
            words = str(await pen.hgetall(key))
        elif kind == "set":
            words = str(await pen.smembers(key))
        else:
            words = str(await pen.zrange(key, 0, -1))
        assert "sekrit-" not in key + words
        assert "guess" not in key + words


async def test_a_hash_opens_nothing(store: PersonalRedis, pen: Any) -> None:
    """Whoever reads `rss:token:sha256:…` somewhere has not got a token."""
    await with_token(store, a_reader("mia"), "sesame")
    hashed = f"sha256:{token_hash('sesame').hex()}"
    assert await opens(store, hashed) is None
    assert await opens(store, "sesame") is not None


@pytest.mark.parametrize("token", ["*", "ses*", "[a-z]esame", "?esame", "sesame:x", ":", "sha256:"])
async def test_nothing_in_a_token_is_a_pattern(store: PersonalRedis, pen: Any, token: str) -> None:
    await pen.set("rss:token:sesame", "mia")
    assert await opens(store, token) is None
    assert await pen.exists("rss:token:sesame") == 1


async def test_a_user_without_categories_has_an_empty_feed(store: PersonalRedis, pen: Any) -> None:
    await pen.set("rss:token:sesame", "u:1")
    holder = await opens(store, "sesame")
    assert holder is not None
    assert (holder.reader.id, holder.reader.categories) == ("u:1", ())


async def test_an_upgrade_keeps_the_end_that_a_token_has(store: PersonalRedis, pen: Any) -> None:
    await pen.set("rss:token:sesame", "mia", px=3_600_000)
    holder = await opens(store, "sesame")
    assert holder is not None
    assert holder.until is not None
    assert BEGIN + 3_500 * SECOND < holder.until <= BEGIN + 3_600 * SECOND
    assert await opens(store, "sesame", BEGIN + 2 * 3_600 * SECOND) is None


async def test_a_revoked_token_stays_revoked_whoever_writes_it_again(
    store: PersonalRedis, pen: Any
) -> None:
    await pen.set("rss:token:sesame", "mia")
    holder = await opens(store, "sesame")
    assert holder is not None
    await store.end_token(holder.token_id, until=BEGIN, revoked=True, now=BEGIN)
    await pen.set("rss:token:sesame", "mia")
    for _ in range(2):
        assert await opens(store, "sesame") is None
    assert await pen.exists("rss:token:sesame") == 0


async def test_a_token_that_is_written_for_somebody_else_is_theirs(
    store: PersonalRedis, pen: Any
) -> None:
    await pen.set("rss:token:sesame", "mia")
    await opens(store, "sesame")
    seen = (await store.changes(-1)).version
    await pen.set("rss:token:sesame", "bo")
    holder = await opens(store, "sesame")
    assert holder is not None
    assert holder.reader.id == "bo"
    assert (await store.tokens("mia"), len(await store.tokens("bo"))) == ([], 1)
    assert (await store.changes(seen)).readers == {"mia", "bo"}


async def test_a_removed_readers_plain_tokens_open_nothing(store: PersonalRedis, pen: Any) -> None:
    await pen.set("rss:token:used", "mia")
    await pen.set("rss:token:unused", "mia")
    await pen.set("rss:user:mia:categories", '["news"]')
    assert await opens(store, "used") is not None
    assert await store.remove_reader("mia", BEGIN) is True
    assert (await opens(store, "used"), await opens(store, "unused")) == (None, None)
    await store.upkeep(BEGIN)
    assert await store.readers() == []
    await pen.set("rss:user:mia:categories", '["art"]')  # the other tool has them again
    holder = await opens(store, "unused")
    assert holder is not None
    assert holder.reader.categories == ("art",)


async def test_readers_of_other_tools_are_found(store: PersonalRedis, pen: Any) -> None:
    await store.add_reader(a_reader("mia"), most=10)
    await pen.set("rss:user:mia:categories", '["news"]')
    await pen.set("rss:user:a:b:categories", '["x"]')
    seen = (await store.changes(-1)).version
    await store.upkeep(BEGIN)
    found = {reader.id: reader for reader in await store.readers()}
    assert {each.id: (each.name, each.categories) for each in found.values()} == {
        "id-of-mia": ("mia", ()),
        "mia": ("mia (2)", ("news",)),
        "a:b": ("a:b", ("x",)),
    }
    assert (await store.changes(seen)).readers == {"mia", "a:b"}
    assert await store.reader_named("mia (2)") == found["mia"]


async def test_categories_that_another_tool_changed_are_noticed(
    store: PersonalRedis, pen: Any, virtual_clock: VirtualClock
) -> None:
    await store.add_reader(a_reader("mia", "news"), most=10)
    await store.add_reader(a_reader("bo", "news"), most=10)
    seen = (await store.changes(-1)).version
    await pen.set("rss:user:id-of-mia:categories", '["art"]')
    await pen.delete("rss:user:id-of-bo:categories")
    await virtual_clock.advance(20)
    await store.upkeep(BEGIN + 20 * SECOND)
    assert (await store.changes(seen)).readers == {"id-of-mia", "id-of-bo"}
    mia, bo = await store.reader("id-of-mia"), await store.reader("id-of-bo")
    assert mia is not None
    assert bo is not None
    assert (mia.categories, mia.changed_at) == (("art",), BEGIN + 20 * SECOND)
    assert bo.categories == ()
    seen = (await store.changes(-1)).version
    await store.upkeep(BEGIN + 40 * SECOND)
    assert await store.changes(seen) == PersonalChanges(seen)


async def test_damaged_categories_are_none_and_told_once(
    store: PersonalRedis, pen: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    await pen.set("rss:user:mia:categories", "{damaged")
    await pen.set("rss:token:sesame", "mia")
    with heard() as lines:
        monkeypatch.setattr(pickup, "logger", structlog.get_logger("personal"))
        for _ in range(3):
            await store.upkeep(BEGIN)
    assert [(line["event"], line["reader"]) for line in lines] == [
        ("personal_categories_damaged", "mia")
    ]
    holder = await opens(store, "sesame")
    assert holder is not None
    assert holder.reader.categories == ()


async def test_a_token_that_somebody_took_away_is_noticed(store: PersonalRedis, pen: Any) -> None:
    made = await with_token(store, a_reader("mia"), "sesame")
    seen = (await store.changes(-1)).version
    await pen.delete(f"rss:token:sha256:{token_hash('sesame').hex()}")
    assert await opens(store, "sesame") is None
    await store.upkeep(BEGIN)
    assert (await store.changes(seen)).readers == {"id-of-mia"}
    assert [token.revoked_at for token in await store.tokens("id-of-mia")] == [BEGIN]
    assert made.revoked_at is None


async def test_a_hashed_token_that_another_tool_wrote_works(store: PersonalRedis, pen: Any) -> None:
    await pen.set(f"rss:token:sha256:{token_hash('sesame').hex()}", "mia")
    holder = await opens(store, "sesame")
    assert holder is not None
    assert holder.reader.name == "mia"
    assert await store.end_token(holder.token_id, until=BEGIN, revoked=True, now=BEGIN) is True
    assert await opens(store, "sesame") is None


async def test_tokens_that_ended_long_ago_are_forgotten(
    store: PersonalRedis, pen: Any, virtual_clock: VirtualClock
) -> None:
    made = await with_token(store, a_reader("mia"), "sesame")
    await store.end_token(made.id, until=BEGIN, revoked=True, now=BEGIN)
    await store.note_used({made.id: BEGIN})
    await virtual_clock.advance(90 * 86_400)
    await store.upkeep(BEGIN + 90 * DAY)
    assert len(await store.tokens("id-of-mia")) == 1
    await virtual_clock.advance(86_400)
    await store.upkeep(BEGIN + 91 * DAY)
    assert await store.tokens("id-of-mia") == []
    assert await pen.keys("rss:token*") == []


async def test_a_lost_list_of_readers_comes_back(store: PersonalRedis, pen: Any) -> None:
    await store.add_reader(a_reader("mia", "news"), most=10)
    await pen.set("rss:user:bo:categories", '["art"]')
    await store.upkeep(BEGIN)
    before = await store.readers()
    await pen.delete("rss:readers")
    await store.upkeep(BEGIN)
    assert await store.readers() == before
    await pen.delete("rss:reader:bo")
    await store.upkeep(BEGIN)
    assert [(each.id, each.name) for each in await store.readers()] == [
        ("bo", "bo"),
        ("id-of-mia", "mia"),
    ]


async def test_a_plain_key_of_another_kind_is_no_token(store: PersonalRedis, pen: Any) -> None:
    await pen.lpush("rss:token:sesame", "mia")
    assert await opens(store, "sesame") is None
    assert await pen.exists("rss:token:sesame") == 1


async def test_a_copy_has_plain_tokens_too_and_leaves_them(store: PersonalRedis, pen: Any) -> None:
    await pen.set("rss:token:sesame", "mia")
    await pen.set("rss:user:mia:categories", '["news"]')
    await store.upkeep(BEGIN)
    ((token, hashed),) = await store.tokens_with_hashes("mia")
    assert hashed == token_hash("sesame")
    assert await store.tokens("mia") == []
    assert await pen.get("rss:token:sesame") == "mia"
    holder = await opens(store, "sesame")
    assert holder is not None
    assert holder.token_id == token.id
