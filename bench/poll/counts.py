"""Whether the work was done: requests on the wire, and Headwater's rows, blobs and events."""

import sqlite3
from hashlib import sha256
from pathlib import Path

from bench.poll.contenders import PASSES, Course, Failed, Pass
from bench.poll.documents import NEWS, has_news


def check_requests(who: str, what: Pass, counts: dict[str, int], course: Course) -> None:
    """Exactly one request for each feed; all conditional after the first pass, and 304 where there
    are no news."""
    conditional = 0 if what == "cold" else course.feeds
    _expect(
        f"{who}, {what}: requests",
        counts,
        {
            "requests": course.feeds,
            "asked": course.feeds,
            "conditional": conditional,
            "not_modified": conditional - _with_news(what, course),
            "other": 0,
        },
    )


def check_archive(folder: Path, what: Pass, digests: dict[str, list[str]], course: Course) -> None:
    """What Headwater left behind, row by row and byte by byte."""
    changed = _with_news(what, course)
    entries = course.feeds * course.items + changed * NEWS
    bodies = digests["first"] + (digests["later"] if changed else [])
    database = sqlite3.connect(folder / "headwater.db")
    try:
        _check_visits(database, what, course)
        _expect("entries", _one(database, "SELECT count(*) FROM entries"), entries)
        for count, feeds in (
            (course.items, course.feeds - changed),
            (course.items + NEWS, changed),
        ):
            _expect("feeds with all entries", _one(database, _FULL_FEEDS, count), feeds)
        _expect("entries without their raw", _one(database, _ORPHANS), 0)
        _expect("raw fetches", _one(database, "SELECT count(*) FROM raw_fetches"), len(bodies))
        _check_events(database, entries)
        _expect("broken references", database.execute("PRAGMA foreign_key_check").fetchall(), [])
        _check_blobs(database, folder / "blobs", bodies)
    finally:
        database.close()


_FULL_FEEDS = "SELECT count(*) FROM (SELECT 1 FROM entries GROUP BY feed_id HAVING count(*) = ?)"
_ORPHANS = (
    "SELECT count(*) FROM entries e WHERE NOT EXISTS"
    " (SELECT 1 FROM raw_fetches r WHERE r.fetch_id = e.fetch_id AND r.feed_id = e.feed_id)"
)


def _with_news(what: Pass, course: Course) -> int:
    return sum(map(has_news, range(course.feeds))) if what == "steady" else 0


def _check_visits(database: sqlite3.Connection, what: Pass, course: Course) -> None:
    kinds = database.execute(
        "SELECT status, conditional, error IS NULL, count(*) FROM visits"
        " GROUP BY 1, 2, 3 ORDER BY 1, 2"
    ).fetchall()
    changed, later = _with_news(what, course), course.feeds * PASSES.index(what)
    wanted = [(200, 0, 1, course.feeds), (200, 1, 1, changed), (304, 1, 1, later - changed)]
    _expect(f"visits after {what}", kinds, [kind for kind in wanted if kind[3]])


def _check_events(database: sqlite3.Connection, entries: int) -> None:
    kinds = database.execute("SELECT type, count(*) FROM events GROUP BY type").fetchall()
    _expect("events", kinds, [("new_entry", entries)])
    ends = database.execute("SELECT min(seq), max(seq), count(DISTINCT seq) FROM events").fetchone()
    _expect("the event sequence", ends, (1, entries, entries))
    ids = _one(database, "SELECT count(DISTINCT event_id) FROM events")
    _expect("distinct event ids", ids, entries)


def _check_blobs(database: sqlite3.Connection, folder: Path, digests: list[str]) -> None:
    rows = database.execute("SELECT body_sha256, blob_key FROM raw_fetches").fetchall()
    _expect("archived bodies", sorted(digest for digest, _ in rows), sorted(digests))
    for digest, key in rows:
        found = sha256((folder / key).read_bytes()).hexdigest()
        _expect(f"the blob {key}", found, digest)


def _one(database: sqlite3.Connection, sql: str, *values: int) -> int:
    (count,) = database.execute(sql, values).fetchone()
    return int(count)


def _expect(what: str, found: object, wanted: object) -> None:
    if found != wanted:
        raise Failed(f"{what}: expected {wanted}, found {found}")
