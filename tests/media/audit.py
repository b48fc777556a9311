"""What must hold of downloads, judged from outside: the database, the library, the client's calls.

T1: an intent is written down before the client is asked for anything.
T2: no release that lost its place in the library ever comes back to it.
T3: nothing leaves the library or the client before what replaces it is there, whole; and nothing
    that is not ours ever does.
"""

import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.crash.audit import Broken
from tests.media.shelf import Slot, Watch
from tests.media.site import Published, by_digest
from tests.media.witness import Act

Record = dict[str, Any]

ASKED_FOR = frozenset({"ready", "added", "complete", "verified", "linked", "done"})
"""States of a download that the client may be asked to take."""
IN_LIBRARY = frozenset({"linked", "done"})


def table_of(database: Path, name: str) -> list[Record]:
    """Read with nothing of Headwater's own."""
    with closing(sqlite3.connect(database, timeout=30.0)) as connection:
        connection.row_factory = sqlite3.Row
        return [dict(row) for row in connection.execute(f"SELECT * FROM {name} ORDER BY id")]


@dataclass(slots=True)
class Auditor:
    """`foreign` are torrents that were in the client before us, and are somebody else's."""

    database: Path
    watch: Watch
    foreign: frozenset[str]
    broken: list[Broken] = field(default_factory=list)

    def sees(self, act: Act, infohash: str) -> None:
        """A call, just before the client gets it."""
        rows = [row for row in table_of(self.database, "downloads") if row["infohash"] == infohash]
        if infohash in self.foreign:
            self.broken.append(Broken("T3", f"{act} of somebody else's torrent {infohash}"))
        if act == "add" and not any(row["state"] in ASKED_FOR for row in rows):
            self.broken.append(Broken("T1", f"{infohash} is added, and no intent is there: {rows}"))
        if act == "remove":
            self.broken += self._removed(infohash, rows)

    def _removed(self, infohash: str, rows: Sequence[Record]) -> Iterator[Broken]:
        if not rows:
            yield Broken("T3", f"{infohash} is removed, and was never ours")
        if any(row["state"] in IN_LIBRARY for row in rows):
            yield Broken("T3", f"{infohash} is removed, and the library shows it")
        shown = self.watch.shown()
        for row in rows:
            # What never was in the library leaves no place empty.
            for slot in _slots(row) if row["linked_at"] is not None else ():
                if slot not in shown:
                    yield Broken("T3", f"{infohash} is removed, and nothing else shows {slot}")

    def judge(self, releases: Sequence[Published]) -> list[Broken]:
        """Everything that was seen so far."""
        return [*self.broken, *self._seen(releases), *self._written()]

    def _seen(self, releases: Sequence[Published]) -> Iterator[Broken]:
        known = by_digest(releases)
        for slot in self.watch.gaps:
            yield Broken("T3", f"{slot} was in the library, and then nothing was")
        for digest, paths in self.watch.bodies.items():
            if digest not in known:
                yield Broken("T3", f"{sorted(paths)} had bytes that nobody seeded")
        for slot, history in self.watch.history.items():
            names = [known[each].title for each in history if each in known]
            if len(set(history)) < len(history):
                yield Broken("T2", f"{slot} has shown {names}")

    def _written(self) -> Iterator[Broken]:
        """One transaction's worth of rows never contradicts itself."""
        standing: dict[tuple[int, Slot], list[int]] = {}
        for row in table_of(self.database, "downloads"):
            for slot in _slots(row) if row["state"] in IN_LIBRARY else ():
                standing.setdefault((row["show_id"], slot), []).append(row["id"])
        for (_, slot), owners in standing.items():
            if len(owners) > 1:
                yield Broken("T2", f"{slot} belongs to downloads {owners}")

    def judge_at_rest(
        self, releases: Sequence[Published], expected: Mapping[Slot, Published]
    ) -> list[Broken]:
        """At the end of the season: every episode exactly once, and from the best release."""
        return [*self.judge(releases), *self._at_rest(releases, expected)]

    def _at_rest(
        self, releases: Sequence[Published], expected: Mapping[Slot, Published]
    ) -> Iterator[Broken]:
        known, shown = by_digest(releases), self.watch.shown()
        for slot in sorted(set(shown) | set(expected)):
            files, wanted = shown.get(slot, []), expected.get(slot)
            titles = [known[each.digest].title for each in files if each.digest in known]
            if wanted is None or titles != [wanted.title]:
                said = wanted.title if wanted else "nothing"
                yield Broken("end", f"{slot} shows {titles}, not {said}: {files}")
        best = {each.infohash for each in expected.values()}
        for row in table_of(self.database, "downloads"):
            should = {"done"} if row["infohash"] in best else {"retired", "dropped"}
            if row["state"] not in should:
                yield Broken("end", f"{row['infohash']} is {row['state']}: {row['detail']}")


def _slots(row: Record) -> list[Slot]:
    """As `[[season, episode], …]`; halves and films are not part of a season here."""
    return [(int(each[0]), int(each[1])) for each in json.loads(row["slots"])]
