"""The naive engine: what a good programmer writes in an afternoon with quick libraries.

aiohttp, fastfeedparser, SQLite from the standard library, a commit per feed; conditional requests,
bodies archived to files, entries inserted or updated. It has no limits, no politeness, no history
and no events, and it syncs nothing to disk by itself. Started as
`python -m bench.poll.naive PASS FOLDER PORT FEEDS PARALLEL`, in an environment of its own.
"""

import asyncio
import hashlib
import json
import sqlite3
import sys
import time
from pathlib import Path
from typing import Any

import aiohttp
import fastfeedparser

from bench.poll import stopwatch
from bench.poll.documents import urls

SCHEMA = """
CREATE TABLE IF NOT EXISTS feeds (url TEXT PRIMARY KEY, title TEXT, etag TEXT, modified TEXT,
  status INTEGER, fetched_at REAL, blob TEXT);
CREATE TABLE IF NOT EXISTS entries (feed TEXT, guid TEXT, title TEXT, link TEXT, author TEXT,
  published TEXT, summary TEXT, content TEXT, tags TEXT, hash TEXT, first_seen REAL, last_seen REAL,
  PRIMARY KEY (feed, guid));
"""
UPSERT_FEED = """INSERT INTO feeds VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (url) DO UPDATE SET
  title = excluded.title, etag = excluded.etag, modified = excluded.modified,
  status = excluded.status, fetched_at = excluded.fetched_at, blob = excluded.blob"""
UPSERT_ENTRY = """INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
  ON CONFLICT (feed, guid) DO UPDATE SET title = excluded.title, link = excluded.link,
  author = excluded.author, published = excluded.published, summary = excluded.summary,
  content = excluded.content, tags = excluded.tags, hash = excluded.hash,
  last_seen = excluded.last_seen"""


def open_database(path: Path) -> sqlite3.Connection:
    database = sqlite3.connect(path)
    database.execute("PRAGMA journal_mode = WAL")
    database.execute("PRAGMA synchronous = NORMAL")
    database.executescript(SCHEMA)
    return database


def archive(folder: Path, body: bytes) -> str:
    digest = hashlib.sha256(body).hexdigest()
    path = folder / digest[:2] / digest
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(body)
    return digest


def entry_row(url: str, entry: Any, now: float) -> tuple[Any, ...]:
    content = "".join(part.get("value", "") for part in entry.get("content") or ())
    summary, title = entry.get("description") or "", entry.get("title") or ""
    tags = json.dumps([tag.get("term") for tag in entry.get("tags") or ()])
    digest = hashlib.sha256(f"{title}\0{summary}\0{content}".encode()).hexdigest()
    guid = entry.get("id") or entry.get("link") or digest
    return (
        url, guid, title, entry.get("link"), entry.get("author"), entry.get("published"),
        summary, content, tags, digest, now, now,
    )  # fmt: skip


async def visit(
    session: Any, database: sqlite3.Connection, folder: Path, url: str, places: asyncio.Semaphore
) -> None:
    async with places:
        known = database.execute(
            "SELECT etag, modified FROM feeds WHERE url = ?", (url,)
        ).fetchone()
        asked = {"If-None-Match": known[0], "If-Modified-Since": known[1]} if known else {}
        async with session.get(url, headers=asked) as answer:
            body, now = await answer.read(), time.time()
            if answer.status == 304:
                database.execute(
                    "UPDATE feeds SET status = 304, fetched_at = ? WHERE url = ?", (now, url)
                )
                database.commit()
                return
            blob, document = archive(folder, body), fastfeedparser.parse(body)
            validators = answer.headers.get("ETag"), answer.headers.get("Last-Modified")
            title = document["feed"].get("title")
            database.execute(UPSERT_FEED, (url, title, *validators, answer.status, now, blob))
            rows = [entry_row(url, entry, now) for entry in document["entries"]]
            database.executemany(UPSERT_ENTRY, rows)
            database.commit()


async def poll(folder: Path, every: list[str], parallel: int) -> None:
    database, places = open_database(folder / "naive.db"), asyncio.Semaphore(parallel)
    connector = aiohttp.TCPConnector(limit=parallel)
    async with aiohttp.ClientSession(connector=connector) as session:
        await asyncio.gather(
            *(visit(session, database, folder / "blobs", url, places) for url in every)
        )
    database.close()


def main() -> None:
    _, folder, port, feeds, parallel = sys.argv[1:]
    every = urls(int(feeds), int(port))
    stopwatch.started()
    asyncio.run(poll(Path(folder), every, int(parallel)))
    stopwatch.done()


if __name__ == "__main__":
    main()
