"""Bugs to find: small patches to a copy of the product, each with the invariant it breaks.

A pause widens the moment in which a kill must come; the bug would be one without it too.
"""

import shutil
from dataclasses import dataclass
from pathlib import Path

import headwater

SOURCE = Path(headwater.__file__).parent
PAUSE = "await __import__('asyncio').sleep(0.4)"


@dataclass(frozen=True, slots=True)
class Edit:
    """Replace a text that occurs exactly once in a file of the package."""

    file: str
    old: str
    new: str


@dataclass(frozen=True, slots=True)
class Bug:
    """`found_as` are the names the audit may give it, all of them true."""

    name: str
    found_as: frozenset[str]
    edits: tuple[Edit, ...]
    needs_two_workers: bool = False


def planted(bug: Bug, folder: Path) -> Path:
    """A folder to import the package from, with the bug in it."""
    copy = folder / "source" / "headwater"
    shutil.copytree(SOURCE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    for edit in bug.edits:
        path = copy / edit.file
        text = path.read_text("utf-8")
        assert text.count(edit.old) == 1, f"{edit.file} has changed: plant {bug.name!r} anew"
        path.write_text(text.replace(edit.old, edit.new), "utf-8")
    return copy.parent


_APPEND = "        await event_rows.append_events(tx, [*facts, *moves], engine.clock.now())\n"
_SAVE = (
    "        await entry_rows.save_entries(\n"
    "            tx, [_merged(each) for each in settled if _shows_entries(each)]\n"
    "        )\n"
)
_LEARN = "        await visit_rows.update_feeds(tx, [each.learned for each in rows])\n"
_PUT = "        await engine.blobs.put_many([(keys[raw.body_sha256], raw.body) for raw in group])\n"

_HAND_OVER = "            receipt = await self._handed_over(batch)\n"
_NOTE = "        progress, until = self._progress(), None if last else self.lease.next_end()\n"

_PROMISE = "        archived, held = await _insert_raw_rows(engine, group, keys, generation)\n"

BUGS = (
    Bug(
        "events are told after the commit",
        frozenset({"D1"}),
        (
            Edit(
                "feeds/commit_visits.py",
                _APPEND,
                f"    {PAUSE}\n    async with engine.database.write() as tx:\n{_APPEND}",
            ),
        ),
    ),
    Bug(
        "entries are committed before the visit",
        frozenset({"D1", "E1"}),
        (
            Edit(
                "feeds/commit_visits.py",
                _SAVE,
                f"{_SAVE}    {PAUSE}\n    async with engine.database.write() as tx:\n",
            ),
        ),
    ),
    Bug(
        "the row of a raw fetch is committed before its bytes are there",
        frozenset({"R1"}),
        (
            Edit(
                "feeds/archive.py",
                _PUT + _PROMISE,
                f"{_PROMISE}        {PAUSE}\n{_PUT}",
            ),
        ),
    ),
    Bug(
        "the next visit is written after the commit",
        frozenset({"J3"}),
        (
            Edit("feeds/commit_visits.py", _LEARN, ""),
            Edit(
                "feeds/commit_visits.py",
                _APPEND,
                f"{_APPEND}        for each in settled:\n"
                "            await tx.run('UPDATE feeds SET next_visit_at = NULL,"
                " claimed_by = NULL WHERE id = ?', each.finished.due.feed)\n"
                f"    {PAUSE}\n    async with engine.database.write() as tx:\n{_LEARN}",
            ),
        ),
    ),
    Bug(
        "an edit makes an entry look new",
        frozenset({"E2"}),
        (
            Edit(
                "feeds/merge/entry_rows.py",
                'f"UPDATE entries SET {assignments} WHERE feed_id = ? AND uid_key = ?"',
                'f"UPDATE entries SET {assignments}, first_seen = first_seen + 1'
                ' WHERE feed_id = ? AND uid_key = ?"',
            ),
        ),
    ),
    Bug(
        "an error page is not kept",
        frozenset({"R2"}),
        (
            Edit(
                "feeds/visit.py",
                "        cut, error = False, None\n        if isinstance(outcome, Failed):\n",
                "        cut, error = False, None\n        if isinstance(outcome, Failed):\n"
                "            return None\n",
            ),
        ),
    ),
    Bug(
        "retention counts what entries refer to",
        frozenset({"R1"}),
        (
            Edit(
                "feeds/fetch/raw_rows.py",
                "WHERE expired_at IS NULL AND NOT keep)",
                "WHERE expired_at IS NULL)",
            ),
            Edit(
                "feeds/fetch/raw_rows.py", "WHERE fetch_id = ? AND NOT keep", "WHERE fetch_id = ?"
            ),
        ),
    ),
    Bug(
        "no unique key per visit, and nobody looks at the fence",
        frozenset({"J1", "J2", "D1", "E1"}),
        (
            Edit(
                "feeds/commit_visits.py",
                "    if holding is None or holding.fence != due.fence:\n",
                "    if holding is None:\n",
            ),
            Edit(
                "feeds/worker/claim_rows.py",
                '" WHERE claimed_by IS NOT NULL AND next_visit_at > ?"',
                '" WHERE 0 < ?"',
            ),
            Edit(
                "migrations/versions/v0001_river.py",
                "        _feed_reference(primary_key=True),\n"
                '        Column("scheduled_at", BigInteger, primary_key=True),\n',
                "        _feed_reference(),\n"
                '        Column("scheduled_at", BigInteger, nullable=False),\n',
            ),
        ),
        needs_two_workers=True,
    ),
    Bug(
        "a sink's progress is noted before the sink has anything",
        frozenset({"D5", "I1"}),
        (
            Edit(
                "sinks/deliver.py",
                _HAND_OVER,
                "            self._pass(page, batch[-1].seq)\n"
                "            self._noted = -1e9\n"
                "            await self._note(last=False)\n"
                f"            {PAUSE}\n{_HAND_OVER}",
            ),
        ),
    ),
    Bug(
        "every delivery of an event has other bytes",
        frozenset({"D4"}),
        (
            Edit(
                "events/event_json.py",
                '            "payload": orjson.Fragment(payload),\n',
                '            "payload": orjson.Fragment(payload),\n'
                '            "sent_at": __import__("time").time_ns(),\n',
            ),
        ),
    ),
    Bug(
        "half a line stays in its file",
        frozenset({"D5", "D8"}),
        (
            Edit(
                "sinks/kinds/ndjson_files.py",
                "        left = left[os.write(descriptor, left) :]\n",
                "        left = left[os.write(descriptor, left[: len(left) // 2 + 1]) :]\n"
                "        __import__('time').sleep(0.05)\n",
            ),
            Edit(
                "sinks/kinds/ndjson_files.py",
                "            os.ftruncate(descriptor, end)\n",
                "            pass\n",
            ),
        ),
    ),
    Bug(
        "Redis is not asked what it has already",
        frozenset({"D6"}),
        (
            Edit("sinks/kinds/redis_stream.py", "while looked < back do", "while false do"),
            Edit("sinks/deliver.py", _NOTE, f"        {PAUSE}\n{_NOTE}"),
        ),
    ),
    Bug(
        "items are kept after their events count as delivered",
        frozenset({"I1"}),
        (
            Edit(
                "personal_feeds/items_from_entries.py",
                "            await self._keep(told[:bad])\n",
                "            later = asyncio.ensure_future(asyncio.sleep(1.5))\n"
                "            keep, some = self._keep, told[:bad]\n"
                "            late = lambda _: asyncio.ensure_future(keep(some))\n"
                "            later.add_done_callback(late)\n",
            ),
        ),
    ),
    Bug(
        "an edit does not reach the item",
        frozenset({"I2"}),
        (
            Edit(
                "personal_feeds/items_from_entries.py",
                "            await self._store.revise(some)\n",
                "            pass\n",
            ),
        ),
    ),
    Bug(
        "a reader of the stream goes on one event too far",
        frozenset({"D7"}),
        (
            Edit(
                "entrypoints/api/events/stream.py",
                "            return _parse_event_id(last_event_id)\n",
                "            return _parse_event_id(last_event_id) + 1\n",
            ),
        ),
    ),
)
