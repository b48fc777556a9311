"""Items as they are written: each once, and every change under the next version.

Writers take turns from their first statement on: between looking whether an item is there and
writing it nobody else writes, and whoever has seen a version never meets an earlier one later.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from headwater.ports import Row, Transaction
from headwater.publish.personal.kept import guid_key, guid_of, item_of, revised, text_of
from headwater.publish.personal.queries import Key, flat, pairs, slices, words
from headwater.values.ids import key_of
from headwater.values.personal import Added, KeptItem

_IN_ONE_QUERY = 400
_BY_CALLER = (
    " SELECT p.category_key, p.guid, p.caller_key, p.expires_at FROM w"
    " CROSS JOIN personal_items p WHERE p.category_key = w.k AND p.caller_key = w.g"
)


async def take_turn(tx: Transaction) -> None:
    """SQLite has one writer at a time anyway."""
    if tx.dialect == "postgresql":
        await tx.row("SELECT value FROM counters WHERE name = 'personal' FOR UPDATE")


async def next_version(tx: Transaction) -> int:
    row = await tx.row(
        "UPDATE counters SET value = value + 1 WHERE name = 'personal' RETURNING value"
    )
    assert row is not None, "the counter of personal feeds is missing"
    return int(row.value)


async def add(tx: Transaction, items: Sequence[KeptItem], now: int) -> list[Added]:
    """As `ports.PersonalStore.add` says."""
    await take_turn(tx)
    there = await _standing(tx, items)
    await _bury(tx, there.expired(now))
    fresh: list[KeptItem] = []
    answers: list[Added] = []
    for item in items:
        known = there.living(item, now)
        if known is None and item.expires_at > now:
            fresh.append(item)
            there.note(item)
        guid, expires_at = known or (item.guid, item.expires_at)
        is_new = known is None and item.expires_at > now
        answers.append(Added(guid, item.category, expires_at, is_new))
    await _insert(tx, fresh)
    await _touch(tx, (item.category for item in fresh), now)
    return answers


async def revise(tx: Transaction, items: Sequence[KeptItem], now: int) -> int:
    """As `ports.PersonalStore.revise` says."""
    await take_turn(tx)
    there = await _standing(tx, items)
    wanted = [there.key_of(item, now) for item in items]
    rows = await words(tx, list({key for key in wanted if key is not None}))
    changed: dict[Key, KeptItem] = {}
    for item, key in zip(items, wanted, strict=True):
        if key is None or key not in rows:
            continue
        row = rows[key]
        old = changed.get(key) or item_of(item.category, row.guid, row.expires_at, row.item)
        if (new := revised(old, item)) is not old:
            changed[key] = new
    await tx.run_many(
        "UPDATE personal_items SET item = ? WHERE category_key = ? AND guid = ?",
        [(text_of(item), *key) for key, item in changed.items()],
    )
    await _touch(tx, (item.category for item in changed.values()), now)
    return sum(key is not None and key in rows for key in wanted)


async def sweep(tx: Transaction, now: int, most: int) -> int:
    """Expired rows go, the oldest first; when they expired stays known. How many went.

    It is no new version: whoever shows an item knows when it expires.
    """
    await take_turn(tx)
    rows = await tx.rows(
        "DELETE FROM personal_items WHERE (category_key, guid) IN (SELECT category_key, guid"
        " FROM personal_items WHERE expires_at <= ? ORDER BY expires_at LIMIT ?)"
        " RETURNING category_key, expires_at",
        now,
        most,
    )
    await _note_gone(tx, rows)
    return len(rows)


async def forget(tx: Transaction, *, changed_before: int, categories_before: int) -> None:
    """Old changes of readers, and categories in which nothing has happened for a long time.

    Whoever has not asked since is told that everything may have changed.
    """
    await take_turn(tx)
    old = await tx.rows("DELETE FROM reader_changes WHERE at < ? RETURNING version", changed_before)
    forgotten = max((int(row.version) for row in old), default=0)
    silent = await tx.run(
        "DELETE FROM personal_categories WHERE changed_at < ? AND gone_at < ? AND NOT EXISTS"
        " (SELECT 1 FROM personal_items p"
        " WHERE p.category_key = personal_categories.category_key)",
        categories_before,
        categories_before,
    )
    if silent:
        forgotten = await next_version(tx)
    if forgotten:
        await tx.run(
            "UPDATE counters SET value = ? WHERE name = 'personal_forgotten' AND value < ?",
            forgotten,
            forgotten,
        )


@dataclass(slots=True)
class _Standing:
    """What is there already: guid and expiry, by the keys of guids and by those of callers."""

    guids: dict[Key, int] = field(default_factory=dict)
    callers: dict[Key, Key] = field(default_factory=dict)

    def key_of(self, item: KeptItem, now: int) -> Key | None:
        """Of the living one that an item is, if any."""
        category = key_of(item.category)
        key = (category, guid_key(item.guid))
        if self.guids.get(key, now) > now:
            return key
        if item.caller_id is None:
            return None
        named = self.callers.get((category, key_of(item.caller_id)))
        return named if named is not None and self.guids[named] > now else None

    def living(self, item: KeptItem, now: int) -> tuple[str, int] | None:
        key = self.key_of(item, now)
        return None if key is None else (guid_of(key[1]), self.guids[key])

    def expired(self, now: int) -> Mapping[Key, int]:
        return {key: expires_at for key, expires_at in self.guids.items() if expires_at <= now}

    def note(self, item: KeptItem) -> None:
        category = key_of(item.category)
        key = (category, guid_key(item.guid))
        self.guids[key] = item.expires_at
        if item.caller_id is not None:
            self.callers[(category, key_of(item.caller_id))] = key


async def _standing(tx: Transaction, items: Sequence[KeptItem]) -> _Standing:
    there = _Standing()
    by_guid = {(key_of(item.category), guid_key(item.guid)) for item in items}
    by_caller = {
        (key_of(item.category), key_of(item.caller_id))
        for item in items
        if item.caller_id is not None
    }
    for key, row in (await words(tx, sorted(by_guid))).items():
        there.guids[key] = row.expires_at
    for some in slices(sorted(by_caller), _IN_ONE_QUERY):
        for row in await tx.rows(pairs(tx, len(some)) + _BY_CALLER, *flat(some)):
            category = bytes(row.category_key)
            there.guids[(category, bytes(row.guid))] = row.expires_at
            there.callers[(category, bytes(row.caller_key))] = (category, bytes(row.guid))
    return there


async def _bury(tx: Transaction, expired: Mapping[Key, int]) -> None:
    await tx.run_many(
        "DELETE FROM personal_items WHERE category_key = ? AND guid = ?", sorted(expired)
    )
    await _note_gone_at(tx, [(key[0], at) for key, at in expired.items()])


async def _note_gone(tx: Transaction, rows: Iterable[Row]) -> None:
    await _note_gone_at(tx, [(bytes(row.category_key), row.expires_at) for row in rows])


async def _note_gone_at(tx: Transaction, gone: Iterable[tuple[bytes, int]]) -> None:
    last: dict[bytes, int] = {}
    for category, at in gone:
        last[category] = max(at, last.get(category, 0))
    await tx.run_many(
        "UPDATE personal_categories SET gone_at = ? WHERE category_key = ? AND gone_at < ?",
        [(at, category, at) for category, at in sorted(last.items())],
    )


async def _insert(tx: Transaction, items: Sequence[KeptItem]) -> None:
    await tx.run_many(
        "INSERT INTO personal_items (category_key, guid, caller_key, expires_at, item)"
        " VALUES (?, ?, ?, ?, ?)",
        [
            (
                key_of(item.category),
                guid_key(item.guid),
                None if item.caller_id is None else key_of(item.caller_id),
                item.expires_at,
                text_of(item),
            )
            for item in items
        ],
    )


async def _touch(tx: Transaction, categories: Iterable[str], now: int) -> None:
    """Something came or changed in these. A clock that was set back sets no category back."""
    names = sorted(set(categories))
    if not names:
        return
    version = await next_version(tx)
    await tx.run_many(
        "INSERT INTO personal_categories (category_key, category, version, changed_at, gone_at)"
        " VALUES (?, ?, ?, ?, 0) ON CONFLICT (category_key) DO UPDATE SET"
        " version = excluded.version, changed_at = CASE"
        " WHEN personal_categories.changed_at < excluded.changed_at THEN excluded.changed_at"
        " ELSE personal_categories.changed_at END",
        [(key_of(name), name, version, now) for name in names],
    )
