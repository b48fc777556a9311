"""Promises of every place that keeps personal feeds: readers and their tokens."""

from dataclasses import replace

import pytest

from headwater.auth.tokens import token_hash
from headwater.core.errors import ConflictError, NotFound
from headwater.personal_feeds.ports import PersonalChanges, PersonalStore, ReaderToken
from tests.support.personal_items import (
    BEGIN,
    DAY,
    ODD_NAMES,
    SECOND,
    a_reader,
    another_token,
    with_token,
)


class ReaderPromises:
    """Readers and their tokens."""

    async def test_a_reader_comes_back_as_it_was_made(self, store: PersonalStore) -> None:
        made = a_reader("mia", *ODD_NAMES)
        assert await store.add_reader(made, most=10) == made
        assert await store.reader("id-of-mia") == made
        assert await store.reader_named("mia") == made
        assert await store.reader("mia") is None
        assert await store.reader_named("id-of-mia") is None

    async def test_readers_are_listed_by_name(self, store: PersonalStore) -> None:
        for name in ("bo", "Zoe", "ann", "mia"):
            await store.add_reader(a_reader(name), most=10)
        assert [reader.name for reader in await store.readers()] == ["Zoe", "ann", "bo", "mia"]

    async def test_nothing_is_a_pattern_in_the_name_of_a_reader(self, store: PersonalStore) -> None:
        for name in ("*", "m*", "mia", "m:a"):
            await store.add_reader(a_reader(name, name), most=10)
        found = await store.reader_named("m*")
        assert found is not None
        assert found.categories == ("m*",)
        assert await store.reader_named("?") is None

    @pytest.mark.parametrize("strange", ["no\0such", "half \ud800", "", "id-of-*"])
    async def test_what_nobody_can_be_called_is_not_found(
        self, store: PersonalStore, strange: str
    ) -> None:
        await store.add_reader(a_reader("mia"), most=10)
        assert await store.reader(strange) is None
        assert await store.reader_named(strange) is None
        assert await store.tokens(strange) == []
        assert await store.change_reader(strange, name="x", categories=None, now=BEGIN) is None
        assert await store.remove_reader(strange, BEGIN) is False
        assert await store.end_token(strange, until=BEGIN, revoked=True, now=BEGIN) is False

    async def test_a_name_and_an_id_are_taken_once(self, store: PersonalStore) -> None:
        await store.add_reader(a_reader("mia"), most=10)
        with pytest.raises(ConflictError):
            await store.add_reader(replace(a_reader("mia"), id="other"), most=10)
        with pytest.raises(ConflictError):
            await store.add_reader(replace(a_reader("bo"), id="id-of-mia"), most=10)
        assert [reader.name for reader in await store.readers()] == ["mia"]

    async def test_there_are_no_more_readers_than_allowed(self, store: PersonalStore) -> None:
        await store.add_reader(a_reader("a"), most=2)
        await store.add_reader(a_reader("b"), most=2)
        with pytest.raises(ConflictError):
            await store.add_reader(a_reader("c"), most=2)
        await store.remove_reader("id-of-a", BEGIN)
        await store.add_reader(a_reader("c"), most=2)

    async def test_a_change_keeps_what_it_does_not_speak_of(self, store: PersonalStore) -> None:
        await store.add_reader(a_reader("mia", "news"), most=10)
        later = BEGIN + 5 * SECOND
        renamed = await store.change_reader("id-of-mia", name="Mia", categories=None, now=later)
        assert renamed == replace(a_reader("Mia", "news"), id="id-of-mia", changed_at=later)
        latest = later + SECOND
        moved = await store.change_reader("id-of-mia", name=None, categories=["b", "a"], now=latest)
        assert moved is not None
        assert (moved.name, moved.categories, moved.changed_at) == ("Mia", ("b", "a"), latest)
        assert await store.reader("id-of-mia") == moved
        assert await store.reader_named("mia") is None
        assert await store.change_reader("nobody", name="x", categories=None, now=BEGIN) is None

    async def test_a_change_that_says_the_same_changes_nothing(self, store: PersonalStore) -> None:
        made = await store.add_reader(a_reader("mia", "news"), most=10)
        version = (await store.changes(-1)).version
        same = await store.change_reader(
            "id-of-mia", name="mia", categories=["news"], now=BEGIN + SECOND
        )
        assert same == made
        assert await store.changes(version) == PersonalChanges(version)

    async def test_a_rename_to_a_name_that_is_taken_changes_nothing(
        self, store: PersonalStore
    ) -> None:
        await store.add_reader(a_reader("mia"), most=10)
        await store.add_reader(a_reader("bo"), most=10)
        with pytest.raises(ConflictError):
            await store.change_reader("id-of-bo", name="mia", categories=["x"], now=BEGIN)
        assert await store.reader("id-of-bo") == a_reader("bo")

    async def test_a_reader_goes_with_all_tokens(self, store: PersonalStore) -> None:
        await with_token(store, a_reader("mia"), "sesame")
        assert await store.remove_reader("id-of-mia", BEGIN) is True
        assert await store.holder(token_hash("sesame"), "sesame", BEGIN) is None
        assert await store.reader_named("mia") is None
        assert await store.tokens("id-of-mia") == []
        assert await store.remove_reader("id-of-mia", BEGIN) is False

    async def test_a_token_opens_its_readers_feed(self, store: PersonalStore) -> None:
        made = await with_token(store, a_reader("mia", "news"), "sesame")
        holder = await store.holder(token_hash("sesame"), "sesame", BEGIN)
        assert holder is not None
        assert holder.reader == a_reader("mia", "news")
        assert (holder.token_id, holder.until) == (made.id, None)
        assert await store.holder(token_hash("Sesame"), "Sesame", BEGIN) is None

    async def test_tokens_are_listed_oldest_first_with_their_hashes(
        self, store: PersonalStore
    ) -> None:
        await store.add_reader(a_reader("mia"), most=10)
        second = await another_token(store, "id-of-mia", "b", at=BEGIN + SECOND)
        first = await another_token(store, "id-of-mia", "a", until=BEGIN + DAY)
        await store.end_token(first.id, until=BEGIN, revoked=True, now=BEGIN)
        ended = replace(first, until=BEGIN, revoked_at=BEGIN)
        assert await store.tokens("id-of-mia") == [ended, second]
        assert await store.tokens_with_hashes("id-of-mia") == [
            (ended, token_hash("a")),
            (second, token_hash("b")),
        ]

    async def test_a_token_needs_its_reader(self, store: PersonalStore) -> None:
        with pytest.raises(NotFound):
            await another_token(store, "nobody", "sesame")
        assert await store.holder(token_hash("sesame"), "sesame", BEGIN) is None

    async def test_a_reader_has_no_more_open_tokens_than_allowed(
        self, store: PersonalStore
    ) -> None:
        await store.add_reader(a_reader("mia"), most=10)
        one = ReaderToken("1", "id-of-mia", "h", BEGIN)
        await store.add_token(one, token_hash("1"), most=2)
        short = replace(one, id="2", until=BEGIN + SECOND)
        await store.add_token(short, token_hash("2"), most=2)
        with pytest.raises(ConflictError):
            await store.add_token(replace(one, id="3"), token_hash("3"), most=2)
        later = replace(one, id="3", created_at=BEGIN + SECOND)
        await store.add_token(later, token_hash("3"), most=2)  # the second has ended by then
        assert len(await store.tokens("id-of-mia")) == 3

    async def test_a_token_ends_at_its_moment(self, store: PersonalStore) -> None:
        await with_token(store, a_reader("mia"), "sesame", until=BEGIN + DAY)
        hashed = token_hash("sesame")
        last = await store.holder(hashed, "sesame", BEGIN + DAY - 1)
        assert last is not None
        assert last.until == BEGIN + DAY
        assert await store.holder(hashed, "sesame", BEGIN + DAY) is None

    async def test_an_end_is_never_put_off(self, store: PersonalStore) -> None:
        made = await with_token(store, a_reader("mia"), "sesame")
        for until in (BEGIN + 9 * SECOND, BEGIN + 5 * SECOND, BEGIN + 7 * SECOND):
            assert await store.end_token(made.id, until=until, revoked=False, now=BEGIN) is True
        (ended,) = await store.tokens("id-of-mia")
        assert (ended.until, ended.revoked_at) == (BEGIN + 5 * SECOND, None)
        assert await store.end_token("nobody's", until=BEGIN, revoked=True, now=BEGIN) is False

    async def test_a_revoked_token_opens_nothing_and_stays_listed(
        self, store: PersonalStore
    ) -> None:
        made = await with_token(store, a_reader("mia"), "sesame")
        at = BEGIN + SECOND
        await store.end_token(made.id, until=at, revoked=True, now=at)
        await store.end_token(made.id, until=at + DAY, revoked=True, now=at + DAY)
        assert await store.holder(token_hash("sesame"), "sesame", BEGIN) is None
        assert await store.tokens("id-of-mia") == [replace(made, until=at, revoked_at=at)]

    async def test_last_uses_only_move_forward(self, store: PersonalStore) -> None:
        await with_token(store, a_reader("mia"), "a")
        await another_token(store, "id-of-mia", "b", at=BEGIN + 1)
        version = (await store.changes(-1)).version
        await store.note_used({"id-of-a": BEGIN + 5, "gone": BEGIN})
        await store.note_used({"id-of-a": BEGIN + 3, "id-of-b": BEGIN + 4})
        await store.note_used({})
        used = [token.last_used_at for token in await store.tokens("id-of-mia")]
        assert used == [BEGIN + 5, BEGIN + 4]
        assert await store.changes(version) == PersonalChanges(version)
