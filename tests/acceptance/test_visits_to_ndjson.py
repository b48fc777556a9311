"""What visits bring, as an NDJSON sink writes it down: entries as they were, bytes as served."""

import gzip
from hashlib import sha256
from pathlib import Path
from typing import Any

import orjson

from headwater.entrypoints.api.feeds.entry_records import EntryRecord
from headwater.events.event_filter import EventFilter
from headwater.events.event_rows import read_wire_events
from headwater.feeds.entries import entry_search_rows
from headwater.feeds.raw import raw_rows
from headwater.sinks.ports import DeliveryResult, SinkConfig, SinkConnection
from headwater.subscriptions.unsubscribe import delete_by_url
from tests.support.origin import Post
from tests.support.visits import River

ONE = Post("1", "One & only <b>", text="first words\u2028 and \U0001f600")
ABOUT_ENTRIES = EventFilter(types=("new_entry", "updated_entry"))
TWO = Post("2", "Two", text="second words")


async def outlet_of(river: River, **options: Any) -> SinkConnection:
    plan = river.engine.outlets.checked(SinkConfig("tap", "ndjson", options, {}))
    return await river.engine.outlets.open(plan)


async def tap(river: River, *, after: int = 0, replay: int = 0, **options: Any) -> DeliveryResult:
    """What is told of entries after a number, by a process that lives only for this."""
    async with river.engine.database.read() as view:
        page = await read_wire_events(view, after, limit=1_000, wanted=ABOUT_ENTRIES)
    outlet = await outlet_of(river, **options)
    receipt = await outlet.deliver(page.parcels, replay=replay)
    await outlet.close()
    assert receipt.taken == len(page.parcels) or receipt.trouble is not None
    return receipt


def folder(tmp_path: Path) -> Path:
    return tmp_path / "blobs" / "out"


def lines(tmp_path: Path, series: str = "entries") -> list[Any]:
    found: list[Any] = []
    for path in sorted((folder(tmp_path) / series).iterdir()):
        found += [orjson.loads(line) for line in path.read_bytes().splitlines()]
    return found


def raw_files(tmp_path: Path) -> dict[str, Path]:
    return {
        str(path.relative_to(folder(tmp_path))): path for path in folder(tmp_path).glob("raw/*/*")
    }


async def record(river: River, uid: str) -> dict[str, Any]:
    async with river.engine.database.read() as view:
        kept = await entry_search_rows.get_entry(view, uid)
    return EntryRecord.of(kept).model_dump(mode="json")


async def test_a_line_has_the_entry_as_the_api_shows_it(river: River, tmp_path: Path) -> None:
    feed = river.origin.feed("/a", [ONE, TWO])
    await river.add(feed.url)
    await tap(river)
    told = {line["entry"]["entry_uid"]: line for line in lines(tmp_path)}
    assert told.keys() == {"1", "2"}
    for uid, line in told.items():
        shown = await record(river, uid)
        changing = {"last_seen", "seen_count", "is_present", "versions"}
        assert shown.keys() - line["entry"].keys() == changing
        ref = shown["raw_refs"][0]
        assert line["entry"] == {
            **{name: value for name, value in shown.items() if name not in changing},
            "raw_refs": [{name: ref[name] for name in ("fetch_id", "offset", "length")}],
        }
        assert line["payload"]["entry_uid"] == uid
    assert told["1"]["entry"]["title"] == "One & only <b>"
    assert "\u2028" in told["1"]["entry"]["summary"]


async def test_each_line_has_the_version_it_speaks_of(river: River, tmp_path: Path) -> None:
    feed = river.origin.feed("/a", [ONE])
    await river.add(feed.url)
    for text in ("better words", "best words"):
        feed.edit("1", title=text.title(), text=text)
        await river.visit()
    await tap(river)
    first = lines(tmp_path)
    assert [line["type"] for line in first] == ["new_entry", "updated_entry", "updated_entry"]
    assert [line["entry"]["version"] for line in first] == [1, 2, 3]
    assert [line["entry"]["title"] for line in first] == [
        "One & only <b>",
        "Better Words",
        "Best Words",
    ]
    assert len({line["entry"]["content_hash"] for line in first}) == 3
    assert len({line["entry"]["first_seen"] for line in first}) == 1
    for line in first:
        assert (
            line["entry"]["raw_refs"][0]["fetch_id"] == line["payload"]["raw_refs"][0]["fetch_id"]
        )
    feed.edit("1", text="words after that")
    await river.visit()
    await tap(river, replay=1)
    again = lines(tmp_path)[3:]
    # An entry that was edited since is told as it was then.
    assert [line["entry"] for line in again[:3]] == [line["entry"] for line in first]
    assert again[3]["entry"]["version"] == 4


async def test_the_bytes_are_copied_as_they_were_served_each_once(
    river: River, tmp_path: Path
) -> None:
    feed = river.origin.feed("/a", [ONE, TWO])
    feed.gzipped = True
    await river.add(feed.url)
    feed.edit("2", text="other words")
    await river.visit()
    await tap(river)
    copies = raw_files(tmp_path)
    named = [ref for line in lines(tmp_path) for ref in line["raw"]]
    assert {ref["file"] for ref in named} == copies.keys()
    assert [ref["note"] for ref in named] == [None] * 3
    served = {request.sha256 for request in feed.requests if request.status == 200}
    assert {sha256(path.read_bytes()).hexdigest() for path in copies.values()} == served
    assert all(b"words" in gzip.decompress(path.read_bytes()) for path in copies.values())
    before = {name: path.stat() for name, path in copies.items()}
    assert {kept.st_nlink for kept in before.values()} == {1}
    await tap(river, replay=1)
    after = {name: path.stat().st_ino for name, path in raw_files(tmp_path).items()}
    assert after == {name: kept.st_ino for name, kept in before.items()}


async def test_whoever_edits_a_copy_does_not_damage_the_archive(
    river: River, tmp_path: Path
) -> None:
    feed = river.origin.feed("/a", [ONE])
    await river.add(feed.url)
    await tap(river)
    (copy,) = raw_files(tmp_path).values()
    copy.write_bytes(b"mine now")
    (row,) = await river.rows("SELECT blob_key, body_sha256 FROM raw_fetches")
    kept = await river.engine.blobs.get(row.blob_key)
    assert kept is not None
    assert sha256(kept).hexdigest() == row.body_sha256
    await tap(river, replay=1)
    assert copy.read_bytes() == b"mine now"


async def test_a_raw_that_expired_is_left_out_and_the_line_says_so(
    river: River, tmp_path: Path
) -> None:
    feed = river.origin.feed("/a", [ONE])
    await river.add(feed.url)
    await river.clock.advance(86_400)
    async with river.engine.database.write() as tx:
        now = river.clock.now()
        await raw_rows.set_expired(
            tx, await raw_rows.list_expirable(tx, unchanged_kept=1, kept_before=now), now
        )
    assert await tap(river) == DeliveryResult(1)
    (line,) = lines(tmp_path)
    fetch_id = line["payload"]["raw_refs"][0]["fetch_id"]
    assert line["raw"] == [{"fetch_id": fetch_id, "file": None, "note": "expired"}]
    assert line["entry"]["title"] == "One & only <b>"
    assert raw_files(tmp_path) == {}


async def test_damaged_and_missing_bytes_are_never_passed_on(river: River, tmp_path: Path) -> None:
    for path in ("/a", "/b"):
        await river.add(river.origin.feed(path, [ONE, Post(path, path)]).url)
    rows = await river.rows("SELECT blob_key FROM raw_fetches ORDER BY fetched_at")
    damaged, missing = (tmp_path / "blobs" / row.blob_key for row in rows)
    damaged.write_bytes(damaged.read_bytes().replace(b"first", b"worst"))
    missing.unlink()
    assert await tap(river) == DeliveryResult(4)
    assert [ref["note"] for line in lines(tmp_path) for ref in line["raw"]] == [
        "damaged",
        "damaged",
        "missing",
        "missing",
    ]
    assert raw_files(tmp_path) == {}


async def test_a_feed_that_was_deleted_leaves_events_without_entries(
    river: River, tmp_path: Path
) -> None:
    feed = river.origin.feed("/a", [ONE])
    await river.add(feed.url)
    await delete_by_url(feed.url, river.engine.database, "tester", hard=True)
    assert await tap(river) == DeliveryResult(1)
    (line,) = lines(tmp_path)
    assert (line["type"], line["entry"]) == ("new_entry", None)
    assert line["raw"][0]["note"] == "missing"


async def test_compact_lines_without_raw_are_the_events_alone(river: River, tmp_path: Path) -> None:
    await river.add(river.origin.feed("/a", [ONE]).url)
    await tap(river, entries="compact", raw=False)
    (line,) = lines(tmp_path)
    assert line.keys() == {"seq", "id", "type", "at", "feed_id", "payload"}
    assert raw_files(tmp_path) == {}


async def test_an_entry_whose_row_is_damaged_fails_alone(river: River, tmp_path: Path) -> None:
    feed = river.origin.feed("/a", [ONE])
    await river.add(feed.url)
    feed.edit("1", text="better words")
    await river.visit()
    async with river.engine.database.write() as tx:
        await tx.run("UPDATE entry_versions SET snapshot = '{broken'")
    receipt = await tap(river)
    assert (receipt.taken, receipt.trouble, receipt.about) == (0, "bad_entry", "event")
    (first, _) = await river.rows("SELECT seq FROM events WHERE type LIKE '%_entry' ORDER BY seq")
    assert await tap(river, after=first.seq) == DeliveryResult(1)
    assert [line["entry"]["version"] for line in lines(tmp_path)] == [2]


async def test_many_entries_of_many_versions_are_found_in_a_few_queries(
    river: River, tmp_path: Path
) -> None:
    posts = [Post(f"post {n}", f"Post {n}", text=f"{n}") for n in range(700)]
    feed = river.origin.feed("/a", posts)
    await river.add(feed.url)
    for n in range(0, 700, 7):
        feed.edit(f"post {n}", text=f"{n} again")
    await river.visit()
    assert await tap(river) == DeliveryResult(800)
    found = lines(tmp_path)
    assert all(line["entry"]["entry_uid"] == line["payload"]["entry_uid"] for line in found)
    assert [line["entry"]["version"] for line in found] == [1] * 700 + [2] * 100
    assert sum(line["entry"]["summary"].endswith(" again") for line in found) == 100
