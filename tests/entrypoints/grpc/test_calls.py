"""Reading over gRPC: the same records, pages and cursors as over HTTP."""

from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Any

import grpc
import orjson
import pytest
from google.protobuf.json_format import MessageToDict
from google.protobuf.timestamp_pb2 import Timestamp

from headwater.client.grpc import headwater_pb2
from headwater.entrypoints.api import records
from headwater.entrypoints.api.feeds import entry_records, feed_records, raw_records
from headwater.events.event import Event
from headwater.feeds.entries.entry_changes import MergeChanges
from headwater.feeds.raw.raw_fetch import blob_key
from tests.entrypoints.api.feeds.test_entries import edited
from tests.entrypoints.grpc.conftest import Serve, Served, refused, tell
from tests.support.scripted_engine import River, an_entry

ABSENT: tuple[Any, ...] = (None, [], {})
NOBODY = "01900000-0000-7000-8000-999999999999"

PAIRS: list[tuple[Any, type[records.Record]]] = [
    (headwater_pb2.Feed, feed_records.FeedRecord),
    (headwater_pb2.Overrides, feed_records.OverridesRecord),
    (headwater_pb2.Validators, feed_records.ValidatorsRecord),
    (headwater_pb2.Schedule, feed_records.ScheduleRecord),
    (headwater_pb2.Hints, feed_records.HintsRecord),
    (headwater_pb2.Stats, feed_records.StatsRecord),
    (headwater_pb2.Entry, entry_records.EntryRecord),
    (headwater_pb2.Person, entry_records.PersonRecord),
    (headwater_pb2.RawRef, entry_records.RawRefRecord),
    (headwater_pb2.Version, entry_records.VersionRecord),
    (headwater_pb2.RawFetch, raw_records.RawFetchRecord),
    (headwater_pb2.BlobRef, raw_records.BlobRefRecord),
]


@pytest.mark.parametrize(("message", "record"), PAIRS, ids=lambda each: each.__name__)
def test_a_message_has_every_field_of_its_record_and_no_other(
    message: Any, record: type[records.Record]
) -> None:
    assert set(message.DESCRIPTOR.fields_by_name) == set(record.model_fields)


def plain(message: Any) -> dict[str, Any]:
    told: dict[str, Any] = MessageToDict(message, preserving_proto_field_name=True)
    return told


def alike(message: Any, record: Any) -> None:
    """Every field of the JSON record is in the message; what is null or empty is left out."""
    told = plain(message)
    for name, value in record.items():
        if value in ABSENT or value is False or value == 0:
            continue
        _alike(told[name], value, name)


def _alike(told: Any, value: Any, where: str) -> None:
    match value:
        case dict():
            for name, each in value.items():
                if each in ABSENT or each is False or each == 0:
                    continue
                _alike(told[name], each, f"{where}.{name}")
        case list():
            assert len(told) == len(value), where
            for one, other in zip(told, value, strict=True):
                _alike(one, other, where)
        case int() if isinstance(told, str):  # 64-bit numbers are text in protobuf's JSON
            assert int(told) == value, where
        case str() if value.endswith("Z"):
            assert datetime.fromisoformat(told) == datetime.fromisoformat(value), where
        case _:
            assert told == value, where


async def test_feeds_come_in_the_same_pages_with_the_same_cursors(
    river: River, served: Served
) -> None:
    made = [await river.feed(name) for name in "abc"]
    first = await served.stub.ListFeeds(headwater_pb2.ListFeedsRequest(limit=2))
    http = (await served.api.get("/feeds?limit=2")).json
    assert [feed.id for feed in first.feeds] == made[:2]
    assert first.next_cursor == http["next_cursor"]
    for message, record in zip(first.feeds, http["feeds"], strict=True):
        alike(message, record)
    rest = await served.stub.ListFeeds(headwater_pb2.ListFeedsRequest(cursor=http["next_cursor"]))
    assert [feed.id for feed in rest.feeds] == made[2:]
    assert not rest.HasField("next_cursor")


async def test_feeds_are_found_by_state_and_url(river: River, served: Served) -> None:
    one, two = await river.feed("a"), await river.feed("b")
    await river.set(two, state="removed", next_visit_at=None)
    listed = await served.stub.ListFeeds(headwater_pb2.ListFeedsRequest())
    assert [feed.id for feed in listed.feeds] == [one]
    removed = await served.stub.ListFeeds(headwater_pb2.ListFeedsRequest(state="removed"))
    assert [feed.id for feed in removed.feeds] == [two]
    found = await served.stub.ListFeeds(
        headwater_pb2.ListFeedsRequest(url="https://a.example/feed")
    )
    assert [feed.id for feed in found.feeds] == [one]


async def test_one_feed_is_told_as_over_http(river: River, served: Served) -> None:
    feed_id = await river.feed("a")
    feed = await served.stub.GetFeed(headwater_pb2.GetFeedRequest(id=feed_id))
    alike(feed, (await served.api.get(f"/feeds/{feed_id}")).json)
    assert feed.schedule.reason == "not visited yet"
    assert not feed.HasField("title")


async def test_entries_come_by_feed_and_time_in_the_same_pages(
    river: River, served: Served
) -> None:
    one, two = await river.feed("a"), await river.feed("b")
    await river.entries(one, *(an_entry(f"a{n}", categories=["x"]) for n in range(3)))
    await river.entries(two, an_entry("b0"))
    seen: list[str] = []
    cursor = ""
    while True:
        page = await served.stub.ListEntries(
            headwater_pb2.ListEntriesRequest(limit=2, cursor=cursor)
        )
        http = (await served.api.get(f"/entries?limit=2&cursor={cursor}")).json
        for message, record in zip(page.entries, http["entries"], strict=True):
            alike(message, record)
        seen += [entry.entry_uid for entry in page.entries]
        assert (page.next_cursor or None) == http["next_cursor"]
        if not page.HasField("next_cursor"):
            break
        cursor = page.next_cursor
    assert sorted(seen) == ["a0", "a1", "a2", "b0"]
    mine = await served.stub.ListEntries(headwater_pb2.ListEntriesRequest(feed_id=two))
    assert [entry.entry_uid for entry in mine.entries] == ["b0"]
    words = await served.stub.ListEntries(headwater_pb2.ListEntriesRequest(category="x", q="TITLE"))
    assert len(words.entries) == 3
    now = datetime.now(UTC)
    late = await served.stub.ListEntries(
        headwater_pb2.ListEntriesRequest(since=now + timedelta(hours=1))
    )
    early = await served.stub.ListEntries(
        headwater_pb2.ListEntriesRequest(until=now + timedelta(hours=1))
    )
    assert (len(late.entries), len(early.entries)) == (0, 4)


async def test_an_entry_comes_with_its_versions_when_asked_for(
    river: River, served: Served
) -> None:
    feed_id = await river.feed("a")
    raw = await river.raw(feed_id, b"<rss/>")
    old, new = an_entry("1", "Old title"), an_entry("1", "New title")
    await river.document(feed_id, MergeChanges(new=(old,)), fetch_id=raw)
    await river.document(feed_id, edited(new, old), fetch_id=raw, before=1)
    plain_entry = await served.stub.GetEntry(headwater_pb2.GetEntryRequest(entry_uid="1"))
    assert (plain_entry.title, plain_entry.version, len(plain_entry.versions)) == (
        "New title",
        2,
        0,
    )
    whole = await served.stub.GetEntry(headwater_pb2.GetEntryRequest(entry_uid="1", versions=True))
    alike(whole, (await served.api.get("/entries/1?versions=1")).json)
    (version,) = whole.versions
    assert version.entry["title"] == "Old title"


async def test_an_entry_of_two_feeds_is_ambiguous_until_a_feed_is_named(
    river: River, served: Served
) -> None:
    one, two = await river.feed("a"), await river.feed("b")
    await river.entries(one, an_entry("same"))
    await river.entries(two, an_entry("same"))
    with pytest.raises(grpc.aio.AioRpcError) as told:
        await served.stub.GetEntry(headwater_pb2.GetEntryRequest(entry_uid="same"))
    assert refused(told.value) == (grpc.StatusCode.FAILED_PRECONDITION, "ambiguous_entry")
    envelope = dict(told.value.trailing_metadata() or ())["headwater-envelope-bin"]
    assert set(orjson.loads(envelope)["feeds"]) == {one, two}
    entry = await served.stub.GetEntry(headwater_pb2.GetEntryRequest(entry_uid="same", feed_id=two))
    assert entry.feed_id == two


async def test_raw_comes_as_its_record_and_then_its_bytes(river: River, served: Served) -> None:
    body = bytes(range(256)) * 1_000
    feed_id = await river.feed("a")
    fetch_id = await river.raw(feed_id, body)
    parts = [
        part async for part in served.stub.GetRaw(headwater_pb2.GetRawRequest(fetch_id=fetch_id))
    ]
    assert parts[0].record.fetch_id == fetch_id
    alike(parts[0].record, (await served.api.get(f"/raw/{fetch_id}?meta=1")).json)
    assert [part.WhichOneof("part") for part in parts[1:]] == ["chunk"] * 4
    assert b"".join(part.chunk for part in parts[1:]) == body
    record_alone = headwater_pb2.GetRawRequest(fetch_id=fetch_id, meta_only=True)
    assert len([part async for part in served.stub.GetRaw(record_alone)]) == 1


async def test_raw_that_is_gone_or_damaged_is_never_served(river: River, served: Served) -> None:
    fetch_id = await river.raw(await river.feed("a"), b"bytes as served")
    key = blob_key(sha256(b"bytes as served").hexdigest(), 0)
    await river.engine.blobs.delete([key])
    await river.engine.blobs.put_many([(key, b"bytes as changed")])
    asked = headwater_pb2.GetRawRequest(fetch_id=fetch_id)
    with pytest.raises(grpc.aio.AioRpcError) as told:
        _ = [part async for part in served.stub.GetRaw(asked)]
    assert refused(told.value) == (grpc.StatusCode.DATA_LOSS, "blob_damaged")
    async with river.engine.database.write() as tx:
        await tx.run("UPDATE raw_fetches SET expired_at = ?", river.now)
    with pytest.raises(grpc.aio.AioRpcError) as told:
        _ = [part async for part in served.stub.GetRaw(asked)]
    assert refused(told.value) == (grpc.StatusCode.NOT_FOUND, "raw_expired")


async def test_events_are_listed_with_the_bytes_that_everybody_gets(
    river: River, served: Served
) -> None:
    feed_id = await river.feed("a")
    await tell(river.engine, *(Event("feed_failing", feed_id, {"n": n}) for n in range(3)))
    page = await served.stub.ListEvents(headwater_pb2.ListEventsRequest(limit=2))
    http = (await served.api.get("/events?limit=2")).json
    assert (page.last_seq, page.next) == (http["last_seq"], http["next"]) == (3, 2)
    assert [orjson.loads(event.body) for event in page.events] == http["events"]
    assert [(event.seq, event.type, event.feed_id) for event in page.events] == [
        (1, "feed_failing", feed_id),
        (2, "feed_failing", feed_id),
    ]
    rest = await served.stub.ListEvents(
        headwater_pb2.ListEventsRequest(after=2, type="feed_failing")
    )
    assert [event.seq for event in rest.events] == [3]
    other = await served.stub.ListEvents(headwater_pb2.ListEventsRequest(feed_id=NOBODY))
    assert (len(other.events), other.next) == (0, 3)


@pytest.mark.parametrize("dialect", ["sqlite"], indirect=True)
async def test_a_page_that_would_be_too_large_ends_earlier(river: River, serve: Serve) -> None:
    """Ten entries of 30 kB each do not fit into 64 KiB: they come in pages that do."""
    feed_id = await river.feed("a")
    await river.entries(feed_id, *(an_entry(f"{n}", f"{n}" + "x" * 30_000) for n in range(10)))
    async with serve(grpc_max_message_bytes=65_536) as served:
        seen: list[str] = []
        cursor = ""
        while True:
            page = await served.stub.ListEntries(
                headwater_pb2.ListEntriesRequest(limit=10, cursor=cursor)
            )
            assert 1 <= len(page.entries) < 10
            assert page.ByteSize() <= 65_536
            seen += [entry.entry_uid for entry in page.entries]
            if not page.HasField("next_cursor"):
                break
            cursor = page.next_cursor
        assert sorted(seen) == sorted(str(n) for n in range(10))


@pytest.mark.parametrize("dialect", ["sqlite"], indirect=True)
async def test_one_record_that_is_too_large_is_refused_as_such(river: River, serve: Serve) -> None:
    feed_id = await river.feed("a")
    await river.entries(feed_id, an_entry("1", "x" * 70_000))
    async with serve(grpc_max_message_bytes=65_536) as served:
        for call in (
            served.stub.ListEntries(headwater_pb2.ListEntriesRequest()),
            served.stub.GetEntry(headwater_pb2.GetEntryRequest(entry_uid="1")),
        ):
            with pytest.raises(grpc.aio.AioRpcError) as told:
                await call
            assert refused(told.value) == (
                grpc.StatusCode.RESOURCE_EXHAUSTED,
                "message_too_large",
            )


BAD: list[tuple[str, Any, grpc.StatusCode, str]] = [
    ("GetFeed", headwater_pb2.GetFeedRequest(id="x"), grpc.StatusCode.NOT_FOUND, "not_found"),
    ("GetFeed", headwater_pb2.GetFeedRequest(id=NOBODY), grpc.StatusCode.NOT_FOUND, "not_found"),
    ("GetFeed", headwater_pb2.GetFeedRequest(), grpc.StatusCode.NOT_FOUND, "not_found"),
    (
        "ListFeeds",
        headwater_pb2.ListFeedsRequest(cursor="x"),
        grpc.StatusCode.INVALID_ARGUMENT,
        "bad_cursor",
    ),
    (
        "ListFeeds",
        headwater_pb2.ListFeedsRequest(limit=-1),
        grpc.StatusCode.INVALID_ARGUMENT,
        "bad_input",
    ),
    (
        "ListFeeds",
        headwater_pb2.ListFeedsRequest(state="asleep"),
        grpc.StatusCode.INVALID_ARGUMENT,
        "bad_input",
    ),
    (
        "ListFeeds",
        headwater_pb2.ListFeedsRequest(url="http://a\x00b"),
        grpc.StatusCode.INVALID_ARGUMENT,
        "bad_input",
    ),
    (
        "ListEntries",
        headwater_pb2.ListEntriesRequest(q="x" * 201),
        grpc.StatusCode.INVALID_ARGUMENT,
        "bad_input",
    ),
    (
        "ListEntries",
        headwater_pb2.ListEntriesRequest(since=Timestamp(seconds=2**60)),
        grpc.StatusCode.INVALID_ARGUMENT,
        "bad_moment",
    ),
    (
        "ListEntries",
        headwater_pb2.ListEntriesRequest(feed_id="x"),
        grpc.StatusCode.NOT_FOUND,
        "not_found",
    ),
    (
        "GetEntry",
        headwater_pb2.GetEntryRequest(entry_uid="x"),
        grpc.StatusCode.NOT_FOUND,
        "not_found",
    ),
    (
        "ListEvents",
        headwater_pb2.ListEventsRequest(after=-1),
        grpc.StatusCode.INVALID_ARGUMENT,
        "bad_input",
    ),
    (
        "ListEvents",
        headwater_pb2.ListEventsRequest(type="gossip"),
        grpc.StatusCode.INVALID_ARGUMENT,
        "bad_input",
    ),
]


@pytest.mark.parametrize("dialect", ["sqlite"], indirect=True)
async def test_what_cannot_be_answered_has_a_status_and_the_envelopes_code(served: Served) -> None:
    for name, asked, status, code in BAD:
        with pytest.raises(grpc.aio.AioRpcError) as told:
            await getattr(served.stub, name)(asked)
        assert refused(told.value) == (status, code), asked
