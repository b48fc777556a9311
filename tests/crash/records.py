"""What a database and a blob folder hold, read from outside with nothing of Headwater's code."""

import sqlite3
from collections import defaultdict
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

import asyncpg

Record = dict[str, Any]

TABLES = (
    "feeds",
    "rss_subscriptions",
    "visits",
    "raw_fetches",
    "entries",
    "entry_versions",
    "events",
    "counters",
    "sinks",
    "dead_letters",
)
BUSY_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class Records:
    """One consistent view of everything, and the digests of all blobs by their key."""

    feeds: list[Record]
    rss_subscriptions: list[Record]
    visits: list[Record]
    raw_fetches: list[Record]
    entries: list[Record]
    entry_versions: list[Record]
    events: list[Record]
    counters: list[Record]
    sinks: list[Record]
    dead_letters: list[Record]
    blobs: dict[str, str]
    visits_of: dict[int, list[Record]] = field(
        init=False, default_factory=lambda: defaultdict(list)
    )
    entries_of: dict[int, list[Record]] = field(
        init=False, default_factory=lambda: defaultdict(list)
    )
    raw_by_id: dict[str, Record] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        for visit in self.visits:
            self.visits_of[visit["feed_id"]].append(visit)
        for entry in self.entries:
            self.entries_of[entry["feed_id"]].append(entry)
        self.raw_by_id.update((raw["fetch_id"], raw) for raw in self.raw_fetches)


class Digests:
    """SHA-256 of every blob; read again only when its file was written to, which its times tell."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[tuple[int, ...], str]] = {}

    def of(self, folder: Path) -> dict[str, str]:
        found = {}
        for path in folder.glob("sha256/*/*"):
            with suppress(FileNotFoundError):  # retention was quicker
                found[path.relative_to(folder).as_posix()] = self._digest(path)
        return found

    def _digest(self, path: Path) -> str:
        now = path.stat()
        marks = (now.st_ino, now.st_size, now.st_mtime_ns, now.st_ctime_ns)
        before, digest = self._known.get(str(path), ((), ""))
        if before != marks:
            digest = sha256(path.read_bytes()).hexdigest()
            self._known[str(path)] = (marks, digest)
        return digest


async def records_of(database_url: str, blobs: Path, digests: Digests | None = None) -> Records:
    """Rows first: a blob that a row promises is on disk before the row is.

    Then the raw rows once more: what retention let go while we looked has said so by now.
    """
    tables = await tables_of(database_url, TABLES)
    there = (digests or Digests()).of(blobs)
    later = await tables_of(database_url, ("raw_fetches",))
    now = {raw["fetch_id"]: raw for raw in later["raw_fetches"]}
    for raw in tables["raw_fetches"]:
        if raw["fetch_id"] in now:
            raw["expired_at"] = now[raw["fetch_id"]]["expired_at"]
    return Records(**tables, blobs=there)


async def tables_of(database_url: str, names: Sequence[str]) -> dict[str, list[Record]]:
    if database_url.startswith("sqlite:///"):
        return _sqlite_tables(database_url.removeprefix("sqlite:///"), names)
    return await _postgres_tables(database_url, names)


def _sqlite_tables(path: str, names: Sequence[str]) -> dict[str, list[Record]]:
    connection = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None)
    connection.row_factory = sqlite3.Row
    try:
        if names == TABLES:
            (sound,) = connection.execute("PRAGMA integrity_check").fetchone()
            assert sound == "ok", f"the database is damaged: {sound}"
        connection.execute("BEGIN")
        return {
            table: [dict(row) for row in connection.execute(f"SELECT * FROM {table}")]
            for table in names
        }
    finally:
        connection.close()


async def _postgres_tables(url: str, names: Sequence[str]) -> dict[str, list[Record]]:
    connection = await asyncpg.connect(url)
    try:
        async with connection.transaction(isolation="repeatable_read", readonly=True):
            return {
                table: [dict(row) for row in await connection.fetch(f"SELECT * FROM {table}")]
                for table in names
            }
    finally:
        await connection.close()
