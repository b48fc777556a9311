"""Entries over HTTP: filters, order, cursors, counting, versions, aliases; on both databases."""

from urllib.parse import quote

import pytest

from headwater.feeds.entries.entry import KnownEntry, NormalisedEntry
from headwater.feeds.entries.entry_changes import ChangedUid, MergeChanges
from tests.support.api_caller import Api
from tests.support.clock import VirtualClock
from tests.support.scripted_engine import River, an_entry


def known(entry: NormalisedEntry, *, version: int = 1, present_since: int | None = 1) -> KnownEntry:
    return KnownEntry(
        uid=entry.uid,
        uid_key=entry.uid_key,
        link_key=entry.link_key,
        content_hash=entry.content_hash,
        version=version,
        present_since=present_since,
    )


def edited(entry: NormalisedEntry, before: NormalisedEntry) -> MergeChanges:
    return MergeChanges(edited=((entry, known(before)),))


async def titles(api: Api, target: str) -> list[str]:
    answer = await api.get(target)
    assert answer.status == 200, answer.body
    return [entry["title"] for entry in answer.json["entries"]]


async def test_an_entry_is_told_as_it_is_defined(api: Api, river: River) -> None:
    feed_id = await river.feed()
    fetch_id = await river.raw(feed_id, b"<rss/>")
    new = MergeChanges(new=(an_entry("tag:a,1", "One", categories=["x"]),))
    await river.document(feed_id, new, fetch_id=fetch_id)
    (entry,) = (await api.get(f"/feeds/{feed_id}/entries")).json["entries"]
    extra = {"version": 1, "is_present": True, "details": {}, "versions": None}
    assert entry == extra | {
        "entry_uid": "tag:a,1",
        "feed_id": feed_id,
        "canonical_link": "https://posts.example/One",
        "title": "One",
        "summary": None,
        "content": None,
        "authors": [{"name": "Ada", "email": None, "uri": None}],
        "categories": ["x"],
        "enclosures": [{"url": "https://a.example/1.mp3", "type": "audio/mpeg", "length": 5}],
        "published": None,
        "updated": None,
        "first_seen": "2026-01-05T12:00:00Z",
        "last_seen": "2026-01-05T12:00:00Z",
        "seen_count": 1,
        "raw_refs": [{"fetch_id": fetch_id, "offset": 10, "length": 20, "note": None}],
        "content_hash": an_entry("tag:a,1", "One").content_hash,
    }


async def test_seen_count_and_last_seen_grow_without_a_write(
    api: Api, river: River, virtual_clock: VirtualClock
) -> None:
    feed_id, entry = await river.feed(), an_entry("1", "One")
    await river.entries(feed_id, entry)
    for before in (1, 2):
        await virtual_clock.advance(60)
        await river.document(feed_id, MergeChanges(), before=before)
    (seen,) = (await api.get("/entries")).json["entries"]
    assert (seen["seen_count"], seen["last_seen"]) == (3, "2026-01-05T12:02:00Z")
    assert seen["first_seen"] == "2026-01-05T12:00:00Z"
    await virtual_clock.advance(60)
    await river.document(feed_id, MergeChanges(left=(known(entry),)), before=3)
    (away,) = (await api.get("/entries")).json["entries"]
    assert (away["seen_count"], away["last_seen"]) == (3, "2026-01-05T12:02:00Z")
    assert away["is_present"] is False
    await virtual_clock.advance(60)
    back = known(entry, present_since=None)
    await river.document(feed_id, MergeChanges(returned=(back,)), before=4)
    (again,) = (await api.get("/entries")).json["entries"]
    assert (again["seen_count"], again["last_seen"]) == (4, "2026-01-05T12:04:00Z")


async def test_the_newest_come_first_and_pages_do_not_shift(
    api: Api, river: River, virtual_clock: VirtualClock
) -> None:
    one, two = await river.feed("a"), await river.feed("b")
    await river.entries(one, *(an_entry(f"a{n}", f"a{n}") for n in range(3)))
    await virtual_clock.advance(60)
    await river.entries(two, *(an_entry(f"b{n}", f"b{n}") for n in range(3)))
    page = (await api.get("/entries?limit=2")).json
    seen = [entry["title"] for entry in page["entries"]]
    await virtual_clock.advance(60)
    await river.entries(one, an_entry("later", "later"), before=1)
    while page["next_cursor"]:
        page = (await api.get(f"/entries?limit=2&cursor={page['next_cursor']}")).json
        assert len(page["entries"]) == 2
        seen += [entry["title"] for entry in page["entries"]]
    assert sorted(seen[:3]) == ["b0", "b1", "b2"]
    assert sorted(seen[3:]) == ["a0", "a1", "a2"]
    assert await titles(api, "/entries?limit=1") == ["later"]


async def test_since_is_inclusive_and_until_is_not(
    api: Api, river: River, virtual_clock: VirtualClock
) -> None:
    feed_id = await river.feed()
    for number in range(3):
        await river.entries(feed_id, an_entry(f"{number}", f"t{number}"), before=number)
        await virtual_clock.advance(60)
    base = f"/feeds/{feed_id}/entries"
    assert await titles(api, f"{base}?since=2026-01-05T12:01:00Z") == ["t2", "t1"]
    assert await titles(api, f"{base}?until=2026-01-05T12:01:00Z") == ["t0"]
    window = "since=2026-01-05T13:01:00%2B01:00&until=2026-01-05T12:02:00.000Z"
    assert await titles(api, f"/entries?{window}") == ["t1"]


@pytest.mark.parametrize(
    "moment",
    [
        "yesterday",
        "2026-01-05",
        "2026-01-05T12:00:00",
        "2026-01-05T12:00:00+01:00",  # the plus is a space here, and the message says so
        "1767614400",
        "2026-13-05T12:00:00Z",
        "0001-01-01T00:00:00%2B23:59",
        "",
    ],
)
@pytest.mark.parametrize("dialect", ["sqlite"], indirect=True)
async def test_a_bad_moment_is_422_with_an_example(api: Api, moment: str) -> None:
    refused = await api.get(f"/entries?since={moment}")
    assert (refused.status, refused.error) == (422, "bad_moment")
    assert refused.json["field"] == "since"
    assert "2026-01-31T08:00:00Z" in refused.json["message"]


async def test_a_category_is_matched_exactly(api: Api, river: River) -> None:
    feed_id = await river.feed()
    for number, categories in enumerate(
        (["news"], ["newsletter"], ["a,b"], ["a", "b"], ['say "hi"'], ["100%"], ["日本"], [","])
    ):
        entry = an_entry(str(number), f"{categories}", categories=categories)
        await river.entries(feed_id, entry, before=number)
    for wanted, found in {
        "news": ["['news']"],
        "a,b": ["['a,b']"],
        "b": ["['a', 'b']"],
        'say "hi"': ["['say \"hi\"']"],
        "100%": ["['100%']"],
        "日本": ["['日本']"],
        ",": ["[',']"],
        "NEWS": [],
        "%": [],
    }.items():
        assert await titles(api, f"/entries?category={quote(wanted)}") == found


async def test_text_is_found_in_any_case_and_never_as_a_pattern(api: Api, river: River) -> None:
    feed_id = await river.feed()
    for number, title in enumerate(
        ("Ada Lovelace", "100% true", "a_b", "École d'été", "進撃の巨人")
    ):
        await river.entries(feed_id, an_entry(str(number), title), before=number)
    for wanted, found in {
        "LOVE": ["Ada Lovelace"],
        "0%": ["100% true"],
        "%": ["100% true"],
        "_": ["a_b"],
        "!": [],
        "école": ["École d'été"],
        "ÉTÉ": ["École d'été"],
        "ôcole": [],
        "巨人": ["進撃の巨人"],
        "'; DROP TABLE entries; --": [],
    }.items():
        assert await titles(api, f"/entries?q={quote(wanted)}") == found


async def test_entries_without_a_date_keep_the_order_of_their_document(
    api: Api, river: River
) -> None:
    feed_id, names = await river.feed(), [f"post {n}" for n in range(8)]
    await river.entries(feed_id, *(an_entry(name, name) for name in names))
    assert await titles(api, "/entries") == names
    first = (await api.get("/entries?limit=3")).json
    assert [entry["title"] for entry in first["entries"]] == names[:3]
    assert await titles(api, f"/entries?cursor={first['next_cursor']}") == names[3:]
    assert {e["first_seen"] for e in first["entries"]} == {"2026-01-05T12:00:00Z"}


async def test_entries_of_one_moment_come_once_each_on_pages_of_one(api: Api, river: River) -> None:
    """Published and seen at the same moment, in two feeds: only feed and uid tell them apart."""
    same, names = 1_767_000_000_000_000, ["a0", "a1", "a2", "b0", "b1", "b2"]
    for feed in ("a", "b"):
        shown = [an_entry(f"{feed}{n}", f"{feed}{n}")._replace(published=same) for n in range(3)]
        await river.entries(await river.feed(feed), *shown)
    whole = await titles(api, "/entries")
    assert sorted(whole) == names
    page = (await api.get("/entries?limit=1")).json
    paged = [entry["title"] for entry in page["entries"]]
    while page["next_cursor"] and len(paged) < 20:
        page = (await api.get(f"/entries?limit=1&cursor={page['next_cursor']}")).json
        paged += [entry["title"] for entry in page["entries"]]
    assert paged == whole


async def test_several_words_are_all_found_in_any_order_and_any_field(
    api: Api, river: River
) -> None:
    feed_id = await river.feed()
    await river.entries(
        feed_id, an_entry("1", "Rivers of Babylon")._replace(summary="Water, École")
    )
    await river.entries(feed_id, an_entry("2", "Rivers of ice")._replace(summary="Snow"), before=1)
    for wanted, found in {
        "babylon rivers": ["Rivers of Babylon"],
        "  water\tRIVERS ": ["Rivers of Babylon"],
        "rivers of": ["Rivers of Babylon", "Rivers of ice"],
        "ÉCOLE rivers": ["Rivers of Babylon"],
        "école snow": [],
        "rivers snow water": [],
        " ": ["Rivers of Babylon", "Rivers of ice"],
    }.items():
        assert await titles(api, f"/entries?q={quote(wanted)}") == found


async def test_a_rare_word_is_found_behind_many_other_entries(api: Api, river: River) -> None:
    """The database finds too much for letters it cannot fold; pages are still right."""
    feed_id = await river.feed()
    wanted = [an_entry(f"w{n}", f"été {n}") for n in range(3)]
    others = [an_entry(f"o{n}", f"atat {n}") for n in range(60)]
    await river.entries(feed_id, *wanted, *others)
    seen: list[str] = []
    target = f"/entries?limit=2&q={quote('ÉtÉ')}"
    cursor = ""
    while cursor is not None:
        page = (await api.get(target + (f"&cursor={cursor}" if cursor else ""))).json
        seen += [entry["title"] for entry in page["entries"]]
        cursor = page["next_cursor"]
    assert sorted(seen) == ["été 0", "été 1", "été 2"]


async def test_filters_join(api: Api, river: River) -> None:
    one, two = await river.feed("a"), await river.feed("b")
    await river.entries(one, an_entry("1", "fish", categories=["x"]), an_entry("2", "fowl"))
    await river.entries(two, an_entry("1", "fish", categories=["x"]))
    assert await titles(api, f"/entries?feed_id={one}&category=x&q=FISH") == ["fish"]
    assert await titles(api, f"/entries?feed_id={two}&q=fowl") == []
    missing = "01900000-0000-7000-8000-999999999999"
    assert (await api.get(f"/entries?feed_id={missing}")).status == 404
    assert (await api.get("/entries?q=a%00b")).status == 422
    assert (await api.get(f"/entries?q={'a' * 201}")).status == 422


@pytest.mark.parametrize(
    "uid",
    [
        "plain",
        "https://a.example/posts/1?x=1&y=2#top",
        "tag:a.example,2026:/a//b/",
        "../../etc/passwd",
        "with space + plus % percent",
        "日本語 é",
        "a" * 4000,
    ],
)
async def test_an_entry_is_found_by_any_uid(api: Api, river: River, uid: str) -> None:
    await river.entries(await river.feed(), an_entry(uid, "it"))
    found = await api.get(f"/entries/{quote(uid, safe='')}")
    assert (found.status, found.json["entry_uid"]) == (200, uid)


async def test_an_entry_of_two_feeds_is_ambiguous_until_a_feed_is_named(
    api: Api, river: River
) -> None:
    one, two = await river.feed("a"), await river.feed("b")
    await river.entries(one, an_entry("same", "in one"))
    await river.entries(two, an_entry("same", "in two"))
    refused = await api.get("/entries/same")
    assert (refused.status, refused.error) == (409, "ambiguous_entry")
    assert refused.json["feeds"] == [one, two]
    assert (await api.get(f"/entries/same?feed_id={two}")).json["title"] == "in two"
    assert (await api.get(f"/entries/other?feed_id={two}")).status == 404


async def test_an_edit_keeps_what_was_said_before(
    api: Api, river: River, virtual_clock: VirtualClock
) -> None:
    feed_id = await river.feed()
    first, second = await river.raw(feed_id, b"1"), await river.raw(feed_id, b"2", number=2)
    old, new = an_entry("1", "Old title", categories=["x"]), an_entry("1", "New title")
    await river.document(feed_id, MergeChanges(new=(old,)), fetch_id=first)
    await virtual_clock.advance(60)
    await river.document(feed_id, edited(new, old), fetch_id=second, before=1)
    entry = (await api.get("/entries/1?versions=1")).json
    assert (entry["title"], entry["version"]) == ("New title", 2)
    assert [ref["fetch_id"] for ref in entry["raw_refs"]] == [first, second]
    (version,) = entry["versions"]
    assert (version["version"], version["replaced_at"]) == (1, "2026-01-05T12:01:00Z")
    assert version["entry"]["title"] == "Old title"
    assert version["entry"]["categories"] == ["x"]
    assert version["raw_ref"]["fetch_id"] == first
    assert (await api.get("/entries/1")).json["versions"] is None


async def test_a_reference_to_expired_raw_says_so(api: Api, river: River) -> None:
    feed_id = await river.feed()
    fetch_id = await river.raw(feed_id, b"1")
    await river.document(feed_id, MergeChanges(new=(an_entry("1"),)), fetch_id=fetch_id)
    async with river.engine.database.write() as tx:
        await tx.run("UPDATE raw_fetches SET expired_at = ?", river.now)
    entry = (await api.get("/entries/1")).json
    assert entry["raw_refs"][0]["note"] == "expired"
    assert entry["raw_refs"][0]["fetch_id"] == fetch_id


async def test_a_drifted_uid_finds_its_entry_until_that_is_undone(
    api: Api, river: River, virtual_clock: VirtualClock
) -> None:
    feed_id = await river.feed()
    old, drifted = an_entry("old/uid", "It"), an_entry("new/uid", "It")
    await river.entries(feed_id, old)
    await virtual_clock.advance(60)
    drift = MergeChanges(drifted=(ChangedUid(drifted, known(old)),))
    await river.document(feed_id, drift, fetch_id="f", before=1)
    assert (await api.get("/entries/new%2Fuid")).json["entry_uid"] == "old/uid"
    (alias,) = (await api.get(f"/feeds/{feed_id}/aliases")).json["aliases"]
    assert alias == {
        "alias_uid": "new/uid",
        "entry_uid": "old/uid",
        "fetch_id": "f",
        "made_at": "2026-01-05T12:01:00Z",
        "undone_at": None,
    }
    await virtual_clock.advance(60)
    for _ in range(2):
        undone = await api.delete(f"/feeds/{feed_id}/aliases/new%2Fuid")
        assert (undone.status, undone.json["undone"]) == (200, True)
        await virtual_clock.advance(60)
    (alias,) = (await api.get(f"/feeds/{feed_id}/aliases")).json["aliases"]
    assert alias["undone_at"] == "2026-01-05T12:02:00Z"
    assert (await api.get("/entries/new%2Fuid")).status == 404
    missing = await api.delete(f"/feeds/{feed_id}/aliases/other")
    assert (missing.status, missing.error) == (404, "not_found")
