"""Bugs to find: small edits of a copy of the product, with the invariants that each breaks.

A pause widens the moment in which a kill must come; the bug would be one without it too.
"""

from dataclasses import dataclass

from tests.support.planted_bugs import Bug, Edit

PAUSE = "await __import__('asyncio').sleep(0.4)"


@dataclass(frozen=True, slots=True)
class AuditedBug(Bug):
    """`found_as` are the names the audit may give it, all of them true."""

    found_as: frozenset[str]
    needs_two_workers: bool = False


BUGS = (
    AuditedBug(
        "events are told after the commit",
        (
            Edit(
                "_commit_once",
                """
async with __transaction__ as tx:
    __before__
    await event_rows.append_events(tx, __events__, __now__)
""",
                f"""
async with __transaction__ as tx:
    __before__
{PAUSE}
async with __transaction__ as tx:
    await event_rows.append_events(tx, __events__, __now__)
""",
            ),
        ),
        frozenset({"D1"}),
    ),
    AuditedBug(
        "entries are committed before the visit",
        (
            Edit(
                "_commit_once",
                """
async with __transaction__ as tx:
    __before__
    await entry_rows.save_entries(tx, __entries__)
    __after__
""",
                f"""
async with __transaction__ as tx:
    __before__
    await entry_rows.save_entries(tx, __entries__)
{PAUSE}
async with __transaction__ as tx:
    __after__
""",
            ),
        ),
        frozenset({"D1", "E1"}),
    ),
    AuditedBug(
        "the row of a raw fetch is committed before its bytes are there",
        (
            Edit(
                "_archive",
                """
await __blobs__.put_many(__bodies__)
__archived__, __held__ = __inserted__
""",
                f"""
__archived__, __held__ = __inserted__
{PAUSE}
await __blobs__.put_many(__bodies__)
""",
            ),
        ),
        frozenset({"R1"}),
    ),
    AuditedBug(
        "the next visit is written after the commit",
        (
            Edit(
                "_commit_once",
                """
async with __transaction__ as tx:
    __before__
    await visit_rows.update_feeds(tx, __learned__)
    __after__
""",
                f"""
async with __transaction__ as tx:
    __before__
    __after__
    for update in __learned__:
        await tx.run(
            "UPDATE feeds SET next_visit_at = NULL, claimed_by = NULL WHERE id = ?", update.feed
        )
{PAUSE}
async with __transaction__ as tx:
    await visit_rows.update_feeds(tx, __learned__)
""",
            ),
        ),
        frozenset({"J3"}),
    ),
    AuditedBug(
        "an edit makes an entry look new",
        (
            Edit(
                "_rewrite_edited",
                'f"UPDATE entries SET {__set__} WHERE feed_id = ? AND uid_key = ?"',
                'f"UPDATE entries SET {__set__}, first_seen = first_seen + 1'
                ' WHERE feed_id = ? AND uid_key = ?"',
            ),
        ),
        frozenset({"E2"}),
    ),
    AuditedBug(
        "an error page is not kept",
        (
            Edit(
                "has_body",
                "__answer__.status is not None",
                "__answer__.status is not None and __answer__.status < 400",
            ),
        ),
        frozenset({"R2"}),
    ),
    AuditedBug(
        "retention counts what entries refer to",
        (
            Edit("list_expirable", "'__sql__ AND NOT keep__more__'", "'__sql____more__'"),
            Edit("set_expired", "'__sql__ AND NOT keep'", "'__sql__'"),
        ),
        frozenset({"R1"}),
    ),
    AuditedBug(
        "no unique key per visit, and nobody looks at the fence",
        (
            Edit(
                "_visit_writes",
                "__claim__ is None or __claim__.fence != __fence__",
                "__claim__ is None",
            ),
            Edit(
                "lock_claimed_feeds",
                "'__sql__ claimed_by IS NOT NULL AND next_visit_at > ?__more__'",
                "'__sql__ 0 < ?__more__'",
            ),
            Edit("_visits", "_feed_reference(primary_key=True)", "_feed_reference()"),
            Edit(
                "_visits",
                'Column("scheduled_at", BigInteger, primary_key=True)',
                'Column("scheduled_at", BigInteger, nullable=False)',
            ),
        ),
        frozenset({"J1", "J2", "D1", "E1"}),
        needs_two_workers=True,
    ),
    AuditedBug(
        "a sink's progress is noted before the sink has anything",
        (
            Edit(
                "Delivery._deliver",
                "__receipt__ = await self._hand_over(__batch__)",
                f"""
self._pass(page, __batch__[-1].seq)
self._noted = -1e9
await self._note(last=False)
{PAUSE}
__receipt__ = await self._hand_over(__batch__)
""",
            ),
        ),
        frozenset({"D5", "I1"}),
    ),
    AuditedBug(
        "every delivery of an event has other bytes",
        (
            Edit(
                "_encode_body",
                "orjson.dumps(__event__)",
                'orjson.dumps({**__event__, "sent_at": __import__("time").time_ns()})',
            ),
        ),
        frozenset({"D4"}),
    ),
    AuditedBug(
        "half a line stays in its file",
        (
            Edit(
                "ndjson_files._write_all",
                "__left__ = __left__[os.write(__descriptor__, __left__):]",
                """
__left__ = __left__[os.write(__descriptor__, __left__[: len(__left__) // 2 + 1]):]
__import__("time").sleep(0.05)
""",
            ),
            Edit("_repair_file", "os.ftruncate(__descriptor__, __end__)", "pass"),
        ),
        frozenset({"D5", "D8"}),
    ),
    AuditedBug(
        "Redis is not asked what it has already",
        (
            Edit("_ADD", "'__lua__ looked < back do__more__'", "'__lua__ false do__more__'"),
            Edit(
                "Delivery._note",
                "progress, until = __both__",
                f"{PAUSE}\nprogress, until = __both__",
            ),
        ),
        frozenset({"D6"}),
    ),
    AuditedBug(
        "items are kept after their events count as delivered",
        (
            Edit(
                "PersonalFeedSink.deliver",
                "await self._keep(__items__)",
                """
asyncio.get_running_loop().call_later(
    1.5, lambda items: asyncio.ensure_future(self._keep(items)), __items__
)
""",
            ),
        ),
        frozenset({"I1"}),
    ),
    AuditedBug(
        "an edit does not reach the item",
        (Edit("PersonalFeedSink._keep", "await self._store.revise(__items__)", "pass"),),
        frozenset({"I2"}),
    ),
    AuditedBug(
        "a reader of the stream goes on one event too far",
        (
            Edit(
                "SharedStreams.beginning",
                "_parse_event_id(__text__)",
                "_parse_event_id(__text__) + 1",
            ),
        ),
        frozenset({"D7"}),
    ),
)
