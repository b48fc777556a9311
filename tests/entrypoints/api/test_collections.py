"""Collections as feeds: what is in them, page by page, and nothing sent twice for nothing."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any
from urllib.parse import quote

import pytest
from lxml import etree

from headwater.feeds.entries.entry import KnownEntry, NormalisedEntry
from headwater.feeds.entries.entry_changes import MergeChanges
from headwater.feeds.feed import FeedOptions
from headwater.parse.parser import parse
from tests.support.api_caller import Answer, Api
from tests.support.clock import VirtualClock
from tests.support.scripted_engine import River, an_entry

ATOM = "{http://www.w3.org/2005/Atom}"
BASE = "http://127.0.0.1:8470"


def titles(answer: Answer) -> list[str]:
    assert answer.status == 200, answer.body
    return [
        entry.title.value if entry.title else "" for entry in parse(answer.body, url=BASE).entries
    ]


def link(answer: Answer, rel: str) -> str | None:
    for found in etree.fromstring(answer.body, etree.XMLParser()).findall(f"{ATOM}link"):
        if found.get("rel") == rel:
            return str(found.get("href"))
    return None


def target(url: str | None) -> str:
    assert url is not None
    assert url.startswith(f"{BASE}/")
    return url.removeprefix(BASE)


async def posted(river: River, clock: VirtualClock, feed: str, *names: str) -> None:
    """Each in a document of its own, a minute apart."""
    for name in names:
        await river.entries(feed, an_entry(f"{feed} {name}", name))
        await clock.advance(60)


async def grouped(river: River, name: str, *feeds: str) -> int:
    async with river.engine.database.write() as tx:
        row = await tx.row(
            "INSERT INTO subscription_groups (name, created_at, updated_at) VALUES (?, ?, ?)"
            " RETURNING group_id",
            name,
            river.now,
            river.now,
        )
        assert row is not None
        for feed in feeds:
            await tx.run(
                "UPDATE rss_subscriptions SET group_id = ? WHERE feed_id ="
                " (SELECT id FROM feeds WHERE feed_id = ?)",
                row.group_id,
                feed,
            )
    return int(row.group_id)


async def test_everything_newest_first(api: Api, river: River, virtual_clock: VirtualClock) -> None:
    one, two = await river.feed("one"), await river.feed("two")
    await posted(river, virtual_clock, one, "a", "b")
    await posted(river, virtual_clock, two, "c")
    answer = await api.get("/meta/all.xml")
    assert titles(answer) == ["c", "b", "a"]
    assert answer.headers["content-type"] == "application/atom+xml"
    assert link(answer, "self") == f"{BASE}/meta/all.xml"
    assert link(answer, "first") == f"{BASE}/meta/all.xml"
    assert link(answer, "next") is None
    assert link(answer, "previous") is None
    assert answer.headers["link"] == f'<{BASE}/meta/all.xml>; rel="self"'
    assert answer.headers["cache-control"] == "private, no-cache"
    as_json = await api.get("/meta/all.json")
    assert [item["title"] for item in as_json.json["items"]] == ["c", "b", "a"]
    assert as_json.headers["content-type"] == "application/feed+json"


async def test_an_empty_collection_is_a_valid_feed(api: Api, river: River) -> None:
    await grouped(river, "Empty")
    for name in ("all", "Empty"):
        answer = await api.get(f"/meta/{name}.xml")
        assert (titles(answer), parse(answer.body).format) == ([], "atom")
        assert (await api.get(f"/meta/{name}.json")).json["items"] == []
        again = await api.get(f"/meta/{name}.xml", if_none_match=answer.headers["etag"])
        assert again.status == 304


async def test_a_group_by_its_name_or_number(
    api: Api, river: River, virtual_clock: VirtualClock
) -> None:
    one, two = await river.feed("one"), await river.feed("two")
    await posted(river, virtual_clock, one, "a")
    await posted(river, virtual_clock, two, "b")
    group = await grouped(river, "Stones/and water", one)
    for name in ("Stones/and water", str(group), "group-Stones/and water"):
        answer = await api.get(f"/meta/{quote(name, safe='')}.xml")
        assert titles(answer) == ["a"]
        assert link(answer, "self") == f"{BASE}/meta/{quote(name, safe='')}.xml"
    same = {parse((await api.get(f"/meta/{n}.xml")).body).feed.id for n in (group, f"{group}")}
    assert len(same) == 1


async def test_a_group_called_all_is_found_by_its_number_or_with_group_in_front(
    api: Api, river: River, virtual_clock: VirtualClock
) -> None:
    one, two = await river.feed("one"), await river.feed("two")
    await posted(river, virtual_clock, one, "a")
    await posted(river, virtual_clock, two, "b")
    group = await grouped(river, "all", one)
    assert titles(await api.get("/meta/all.xml")) == ["b", "a"]
    assert titles(await api.get(f"/meta/{group}.xml")) == ["a"]
    assert titles(await api.get("/meta/group-all.xml")) == ["a"]


async def test_who_left_a_group_is_no_longer_in_it(
    api: Api, river: River, virtual_clock: VirtualClock
) -> None:
    one, two = await river.feed("one"), await river.feed("two")
    await grouped(river, "G", one, two)
    await posted(river, virtual_clock, one, "a")
    await posted(river, virtual_clock, two, "b")
    before = await api.get("/meta/G.xml")
    async with river.engine.database.write() as tx:
        await tx.run(
            "UPDATE rss_subscriptions SET is_active = ? WHERE feed_id = ?",
            False,
            await river.pk(one),
        )
    after = await api.get("/meta/G.xml", if_none_match=before.headers["etag"])
    assert titles(after) == ["b"]


async def test_one_feed_and_a_category_of_feeds(
    api: Api, river: River, virtual_clock: VirtualClock
) -> None:
    one = await river.feed("one", FeedOptions(categories=("news", "a,b")))
    two = await river.feed("two", FeedOptions(categories=("newsletter",)))
    await posted(river, virtual_clock, one, "a")
    await posted(river, virtual_clock, two, "b")
    assert titles(await api.get(f"/meta/feed-{one}.xml")) == ["a"]
    assert titles(await api.get("/meta/category-news.json")) == ["a"]
    assert titles(await api.get("/meta/category-a%2Cb.xml")) == ["a"]
    for name in ("category-%2C", "category-new", "category-", "feed-x", f"feed-{one[:-1]}9"):
        refused = await api.get(f"/meta/{name}.xml")
        assert (refused.status, refused.error) == (404, "not_found")


async def test_what_does_not_exist_is_404(api: Api) -> None:
    odd = ("%00", "a%00b", "feed-%00", "group-%00", "category-%00", "%ED%A0%80", "%FF")
    for name in ("7", "nobody", "9" * 30, "..%2fetc", "feed-", "group-", *odd):
        refused = await api.get(f"/meta/{name}.xml")
        assert (refused.status, refused.error) == (404, "not_found")
    assert (await api.get("/meta/all.rss")).status == 404


async def test_an_unchanged_feed_is_304_by_tag_and_by_time(
    api: Api, river: River, virtual_clock: VirtualClock
) -> None:
    feed = await river.feed()
    await posted(river, virtual_clock, feed, "a")
    await virtual_clock.advance(3_600)
    for suffix in ("xml", "json"):
        first = await api.get(f"/meta/all.{suffix}")
        assert first.headers["last-modified"] == "Mon, 05 Jan 2026 12:00:00 GMT"
        for header in (
            {"if_none_match": first.headers["etag"]},
            {"if_none_match": f'"other", W/{first.headers["etag"]}'},
            {"if_none_match": "*"},
            {"if_modified_since": first.headers["last-modified"]},
            {"if_modified_since": "Tue, 06 Jan 2026 12:00:00 GMT"},
        ):
            same = await api.get(f"/meta/all.{suffix}", **header)
            assert (same.status, same.body) == (304, b""), header
            assert same.headers["etag"] == first.headers["etag"]
        for header in (
            {"if_none_match": '"other"', "if_modified_since": first.headers["last-modified"]},
            {"if_modified_since": "Mon, 05 Jan 2026 11:59:59 GMT"},
            {"if_modified_since": "yesterday"},
        ):
            assert (await api.get(f"/meta/all.{suffix}", **header)).status == 200, header
        assert (await api.get(f"/meta/all.{suffix}")).body == first.body
    xml, as_json = await api.get("/meta/all.xml"), await api.get("/meta/all.json")
    assert xml.headers["etag"] != as_json.headers["etag"]


async def test_a_304_reads_no_words(api: Api, river: River, virtual_clock: VirtualClock) -> None:
    """It is decided from keys: an entry whose words cannot even be read is not touched."""
    feed = await river.feed()
    await posted(river, virtual_clock, feed, "a")
    first = await api.get("/meta/all.xml")
    async with river.engine.database.write() as tx:
        await tx.run("UPDATE entries SET details = 'not JSON', content = 'lost'")
    assert (await api.get("/meta/all.xml", if_none_match=first.headers["etag"])).status == 304


async def test_whoever_asks_by_time_alone_misses_nothing_committed_late(
    api: Api, river: River, virtual_clock: VirtualClock
) -> None:
    """A visit has its moment before its commit: the moment told is earlier while that may be."""
    feed = await river.feed()
    await river.entries(feed, an_entry("a", "a"))
    early = await api.get("/meta/all.xml")
    assert early.headers["last-modified"] == "Mon, 05 Jan 2026 11:58:00 GMT"
    await river.entries(feed, an_entry("b", "b"), before=1)
    late = await api.get("/meta/all.xml", if_modified_since=early.headers["last-modified"])
    assert sorted(titles(late)) == ["a", "b"]


async def test_new_and_edited_entries_change_the_tag(
    api: Api, river: River, virtual_clock: VirtualClock
) -> None:
    feed = await river.feed()
    await posted(river, virtual_clock, feed, "a")
    first = await api.get("/meta/all.xml")
    await posted(river, virtual_clock, feed, "b")
    second = await api.get("/meta/all.xml", if_none_match=first.headers["etag"])
    assert titles(second) == ["b", "a"]
    await edited(river, feed, an_entry(f"{feed} a", "a"), "A")
    third = await api.get("/meta/all.xml", if_none_match=second.headers["etag"])
    assert titles(third) == ["b", "A"]
    updated = [entry.updated for entry in parse(third.body).entries]
    assert updated[1] == virtual_clock.now()
    assert parse(third.body).feed.updated == virtual_clock.now()


async def edited(river: River, feed: str, entry: NormalisedEntry, title: str) -> None:
    known = KnownEntry(entry.uid, entry.uid_key, entry.link_key, entry.content_hash, 1, 1)
    after = an_entry(entry.uid, title)._replace(link=entry.link, link_key=entry.link_key)
    await river.document(feed, MergeChanges(edited=((after, known),)), before=1)


async def test_a_feed_of_another_name_changes_the_tag(api: Api, river: River) -> None:
    feed = await river.feed()
    await river.entries(feed, an_entry("a"))
    first = await api.get("/meta/all.xml")
    await river.set(feed, title="A new name")
    assert (await api.get("/meta/all.xml", if_none_match=first.headers["etag"])).status == 200


async def pages(api: Api, start: str, between: Callable[[], Any] | None = None) -> list[list[str]]:
    """Every page, by `next` from the first to the last."""
    found, at = [], start
    while True:
        answer = await api.get(at)
        found.append(titles(answer))
        following = link(answer, "next")
        stated = answer.headers["link"]
        assert (following is None) == ('rel="next"' not in stated)
        if following is None:
            return found
        assert f'<{following}>; rel="next"' in stated
        at = target(following)
        if between is not None:
            await between()


def flat(found: list[list[str]]) -> list[str]:
    return [title for page in found for title in page]


async def test_pages_cover_each_entry_once_while_new_ones_arrive(
    api: Api, river: River, virtual_clock: VirtualClock
) -> None:
    """Also those of one document, which all have one moment; in every kind of collection."""
    one = await river.feed("one", FeedOptions(categories=("c",)))
    two = await river.feed("two", FeedOptions(categories=("c",)))
    other = await river.feed("other")
    group = await grouped(river, "G", one, two)
    names = [f"n{number:02}" for number in range(7)]
    await river.entries(one, *[an_entry(f"1 {name}", name) for name in names])
    await river.entries(two, *[an_entry(f"2 {name}", name) for name in names])
    await virtual_clock.advance(60)
    await river.entries(other, *[an_entry(f"3 {name}", name) for name in names])
    await posted(river, virtual_clock, two, "late one")
    arrived: list[str] = []

    async def more() -> None:
        await virtual_clock.advance(60)
        arrived.append(f"new {len(arrived)}")
        await river.entries(two, an_entry(arrived[-1], arrived[-1]))

    for name in (f"{group}", "category-c"):
        known = [*names, *names, "late one", *arrived]
        found = await pages(api, f"/meta/{name}.xml?limit=4", more)
        assert sorted(flat(found)) == sorted(known)
        assert all(len(page) == 4 for page in found[:-1])
    known = [*names, *names, *names, "late one", *arrived]
    assert sorted(flat(await pages(api, "/meta/all.xml?limit=5", more))) == sorted(known)


async def test_pages_lead_back_the_way_they_came(
    api: Api, river: River, virtual_clock: VirtualClock
) -> None:
    one, two = await river.feed("one"), await river.feed("two")
    group = await grouped(river, "G", one, two)
    for number in range(5):
        await posted(river, virtual_clock, one, f"a{number}")
        await posted(river, virtual_clock, two, f"b{number}")
    for name in (str(group), "all", f"feed-{one}"):
        forward, at = [], f"/meta/{name}.xml?limit=2"
        while at:
            answer = await api.get(at)
            forward.append((at, titles(answer)))
            at = target(link(answer, "next")) if link(answer, "next") else ""
        back, at = [], forward[-1][0]
        while at:
            answer = await api.get(at)
            back.append(titles(answer))
            at = target(link(answer, "previous")) if link(answer, "previous") else ""
        assert back[::-1] == [shown for _, shown in forward]
        last = await api.get(forward[-1][0])
        assert titles(await api.get(target(link(last, "first")))) == forward[0][1]


async def test_large_groups_find_the_same_as_a_plain_sort(
    api: Api, river: River, virtual_clock: VirtualClock
) -> None:
    """More members than a page has entries: only those that can be on it are looked into."""
    feeds = [await river.feed(f"f{number}") for number in range(9)]
    await grouped(river, "G", *feeds[:8])
    for number in range(30):
        feed = feeds[number * number % 9]
        await posted(river, virtual_clock, feed, f"{number:02}")
    wanted = [f"{n:02}" for n in range(29, -1, -1) if n * n % 9 != 8]
    assert flat(await pages(api, "/meta/G.xml?limit=3")) == wanted
    assert flat(await pages(api, "/meta/G.xml?limit=1")) == wanted


async def test_links_are_built_from_the_public_address(
    guarded: Callable[..., Api], river: River
) -> None:
    await river.entries(await river.feed(), an_entry("a"), an_entry("b", "b"))
    api = guarded(
        public_base_url="https://someone:secret@river.example/below/",
        hub_url="https://hub.example/",
    )
    answer = await api.get("/meta/all.xml?limit=1&token=planted-token&user=planted")
    assert answer.status == 200
    assert link(answer, "self") == "https://river.example/below/meta/all.xml?limit=1"
    assert link(answer, "hub") == "https://hub.example/"
    assert '<https://hub.example/>; rel="hub"' in answer.headers["link"]
    for planted in (b"planted", b"secret", b"an-admin-token"):
        assert planted not in answer.body
        assert planted.decode() not in str(answer.headers)
    as_json = (await api.get("/meta/all.json")).json
    assert as_json["hubs"] == [{"type": "WebSub", "url": "https://hub.example/"}]


@pytest.mark.parametrize("dialect", ["sqlite"], indirect=True)
async def test_a_host_that_is_not_ours_gets_into_no_link(api: Api) -> None:
    refused = await api.get("/meta/all.xml", host="evil.example")
    assert (refused.status, refused.error) == (421, "misdirected_request")
    answer = await api.get("/meta/all.xml", host="[::1]:8470", x_forwarded_host="evil.example")
    assert link(answer, "self") == "http://[::1]:8470/meta/all.xml"


@pytest.mark.parametrize("dialect", ["sqlite"], indirect=True)
async def test_a_token_is_needed_and_read_is_enough(guarded: Callable[..., Api]) -> None:
    assert (await guarded(None).get("/meta/all.xml")).status == 401
    made = await guarded().post("/tokens", {"name": "reader", "scope": "read"})
    answer = await guarded(made.json["token"]).get("/meta/all.xml")
    assert answer.status == 200
    assert made.json["token"].encode() not in answer.body


@pytest.mark.parametrize("dialect", ["sqlite"], indirect=True)
async def test_head_is_get_without_the_body(api: Api, river: River) -> None:
    await river.entries(await river.feed(), an_entry("a"))
    whole = await api.get("/meta/all.xml")
    head = await api.ask("HEAD", "/meta/all.xml")
    assert (head.status, head.body) == (200, b"")
    for name in ("etag", "last-modified", "link", "content-type", "content-length"):
        assert head.headers[name] == whole.headers[name]
    known = [("if-none-match", whole.headers["etag"])]
    assert (await api.ask("HEAD", "/meta/all.xml", headers=known)).status == 304


@pytest.mark.parametrize("dialect", ["sqlite"], indirect=True)
async def test_a_cursor_of_somebody_elses_making_is_refused(api: Api) -> None:
    refused = await api.get("/meta/all.xml?cursor=nonsense")
    assert (refused.status, refused.error) == (422, "bad_cursor")


@pytest.mark.parametrize("dialect", ["sqlite"], indirect=True)
async def test_hostile_words_go_out_harmless(api: Api, river: River) -> None:
    hostile = an_entry("guid", "]]><script>alert(1)</script>\u2028")._replace(
        summary='<p onclick="x()">S</p><script>alert(1)</script>',
        content='<img src=x onerror=alert(1)><a href="javascript:alert(1)">C</a>]]>&lt;b&gt;',
        authors='[{"name":"<b>Eve</b>","email":"x","uri":"javascript:alert(1)"}]',
        enclosures='[{"url":"javascript:alert(1)","type":"text/html","length":1}]',
        details='{"summary_type":"html","content_type":"html"}',
        link=None,
        link_key=None,
    )
    await river.entries(await river.feed(), hostile)
    # Of a name in XML our own parser takes tags away; in JSON it is text as it stands.
    for suffix, name in (("xml", "Eve"), ("json", "<b>Eve</b>")):
        (entry,) = parse((await api.get(f"/meta/all.{suffix}")).body).entries
        assert entry.title is not None
        assert entry.content is not None
        assert entry.title.value.startswith("]]><script>alert(1)</script>")
        assert (
            entry.content.value == '<img><a rel="noopener noreferrer nofollow">C</a>]]&gt;&lt;b&gt;'
        )
        assert entry.link is None
        assert entry.enclosures == ()
        assert [(author.name, author.uri) for author in entry.authors] == [(name, None)]


async def test_a_removed_feed_takes_its_entries_along(
    api: Api, river: River, virtual_clock: VirtualClock
) -> None:
    one, two = await river.feed("one"), await river.feed("two")
    await posted(river, virtual_clock, one, "a")
    await posted(river, virtual_clock, two, "b")
    before = await api.get("/meta/all.xml")
    async with river.engine.database.write() as tx:
        await tx.run("DELETE FROM rss_subscriptions WHERE feed_id = ?", await river.pk(two))
        await tx.run("DELETE FROM feeds WHERE feed_id = ?", two)
    await virtual_clock.advance(timedelta(hours=1).total_seconds())
    after = await api.get("/meta/all.xml", if_none_match=before.headers["etag"])
    assert titles(after) == ["a"]
