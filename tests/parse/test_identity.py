"""What entries are called, and which guids are not believed."""

from dataclasses import dataclass
from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from headwater.parse import IdentityMemory, Text, identify, parse
from headwater.parse.identity import MOST_AMBIGUOUS

FEED = "feed-1"
FRESH = IdentityMemory()


@dataclass(frozen=True)
class Post:
    native_id: str | None = None
    link: str | None = None
    title: Text | None = None
    published: datetime | None = None


def post(guid: str | None, link: str | None = None, title: str | None = None) -> Post:
    return Post(guid, link, Text(title) if title else None)


def test_a_publishers_own_id_is_the_uid() -> None:
    uids, memory = identify([post("a", "https://e.org/1"), post("b")], FEED, FRESH)
    assert uids == ("a", "b")
    assert memory == FRESH


def test_without_an_id_the_uid_is_a_hash() -> None:
    (uid,), _ = identify([post(None, "https://e.org/1", "T")], FEED, FRESH)
    assert len(uid) == 64
    assert set(uid) <= set("0123456789abcdef")


def test_the_hash_covers_link_title_time_and_feed() -> None:
    moment = datetime(2024, 1, 1, tzinfo=UTC)
    base = Post(None, "https://e.org/1", Text("T"), moment)
    variants = [
        (base, FEED),
        (Post(None, "https://e.org/2", Text("T"), moment), FEED),
        (Post(None, "https://e.org/1", Text("U"), moment), FEED),
        (Post(None, "https://e.org/1", Text("T"), None), FEED),
        (base, "feed-2"),
    ]
    uids = {identify([one], feed, FRESH)[0][0] for one, feed in variants}
    assert len(uids) == 5


def test_spellings_of_one_link_are_one_entry() -> None:
    first, _ = identify([post(None, "HTTPS://E.org:443/a/../1#top")], FEED, FRESH)
    second, _ = identify([post(None, "https://e.org/1")], FEED, FRESH)
    assert first == second


def test_one_guid_on_every_item_is_not_trusted() -> None:
    posts = [post("same", f"https://e.org/{number}") for number in range(5)]
    uids, memory = identify(posts, FEED, FRESH)
    assert len(set(uids)) == 5
    assert "same" not in uids
    assert memory.distrust_all


def test_distrust_is_remembered() -> None:
    posts = [post("same", f"https://e.org/{number}") for number in range(5)]
    before, memory = identify(posts, FEED, FRESH)
    after, again = identify([posts[0]], FEED, memory)
    assert after == before[:1]
    assert again == memory


def test_a_guid_of_two_different_items_is_ambiguous_and_only_that_one() -> None:
    posts = [post("x", "https://e.org/1"), post("x", "https://e.org/2"), post("y"), post("z"),
             post("w")]  # fmt: skip
    uids, memory = identify(posts, FEED, FRESH)
    assert uids[2:] == ("y", "z", "w")
    assert len(set(uids)) == 5
    assert not memory.distrust_all
    assert len(memory.ambiguous) == 1


def test_an_ambiguous_guid_stays_ambiguous() -> None:
    posts = [post("x", "https://e.org/1"), post("x", "https://e.org/2"), post("y"), post("z")]
    before, memory = identify(posts, FEED, FRESH)
    after, again = identify([post("x", "https://e.org/1"), post("y")], FEED, memory)
    assert after == (before[0], "y")
    assert again == memory


def test_a_further_ambiguous_guid_makes_no_earlier_one_trusted() -> None:
    posts = [post("x", "https://e.org/1"), post("x", "https://e.org/2"), post("y"), post("z")]
    _, memory = identify(posts, FEED, FRESH)
    posts = [post("y", "https://e.org/3"), post("y", "https://e.org/4"), post("x"), post("z")]
    uids, memory = identify(posts, FEED, memory)
    assert len(memory.ambiguous) == 2
    assert [len(uid) for uid in uids] == [64, 64, 64, 1]


def test_two_items_are_too_few_to_doubt_a_whole_feed() -> None:
    posts = [post("x", "https://e.org/1"), post("x", "https://e.org/2")]
    uids, memory = identify(posts, FEED, FRESH)
    assert (memory.distrust_all, len(memory.ambiguous)) == (False, 1)
    assert [len(uid) for uid in uids] == [64, 64]


def test_facts_that_run_together_are_two_entries() -> None:
    uids, _ = identify([post(None, "no/url", "ab"), post(None, "no/urla", "b")], FEED, FRESH)
    assert uids[0] != uids[1]


def test_the_same_item_twice_is_no_ambiguity() -> None:
    posts = [post("x", "https://e.org/1"), post("x", "https://e.org/1#frag"), post("y")]
    uids, memory = identify(posts, FEED, FRESH)
    assert uids == ("x", "x", "y")
    assert memory == FRESH


def test_items_without_links_are_told_apart_by_title() -> None:
    uids, memory = identify([post("x", None, "A"), post("x", None, "B"), post("y")], FEED, FRESH)
    assert len(set(uids)) == 3
    assert memory != FRESH


def test_too_many_ambiguous_guids_end_all_trust() -> None:
    posts = [
        post(f"g{number // 2}", f"https://e.org/{number}")
        for number in range(2 * MOST_AMBIGUOUS + 4)
    ]
    _, memory = identify(posts, FEED, FRESH)
    assert memory.distrust_all


def test_memory_survives_json() -> None:
    posts = [post("x", "https://e.org/1"), post("x", "https://e.org/2"), post("y"), post("z")]
    _, memory = identify(posts, FEED, FRESH)
    assert IdentityMemory.from_json(memory.as_json()) == memory
    assert IdentityMemory.from_json({}) == FRESH


def test_parse_names_entries_by_the_documents_url() -> None:
    body = b"<rss><channel><item><title>T</title></item></channel></rss>"
    first = parse(body, url="https://a.org/").entries[0].uid
    second = parse(body, url="https://b.org/").entries[0].uid
    assert first != second
    assert parse(body, url="https://a.org/").entries[0].uid == first


posts = st.lists(
    st.builds(
        post,
        st.one_of(st.none(), st.sampled_from("abc"), st.text(max_size=8)),
        st.one_of(st.none(), st.sampled_from(["https://e.org/1", "https://e.org/2", "x"])),
        st.one_of(st.none(), st.text(max_size=8)),
    ),
    max_size=12,
)


@given(posts)
def test_identity_is_stable_and_memory_only_grows(entries: list[Post]) -> None:
    uids, memory = identify(entries, FEED, FRESH)
    assert len(uids) == len(entries)
    assert all(uids)
    again, same = identify(entries, FEED, memory)
    assert (again, same) == (uids, memory)
    assert same.distrust_all or same.ambiguous >= memory.ambiguous
