"""Items as rows keep them: every word comes back, and guids sort as they read."""

from hypothesis import given
from hypothesis import strategies as st

from headwater.personal_feeds.item_json import decode_item, encode_item, guid_key, guid_of, revised
from headwater.personal_feeds.ports import ItemAttachment, KeptItem
from tests.support.personal_items import BEGIN, an_item

ANY = st.text(st.characters(codec=None, exclude_categories=()))
MOMENT = st.integers(-(2**53), 2**53)
UUID7 = st.uuids(version=4).map(lambda plain: f"{str(plain)[:14]}7{str(plain)[15:]}")

ITEMS = st.builds(
    KeptItem,
    category=ANY,
    guid=UUID7 | ANY.filter(lambda text: "\0" not in text),
    title=ANY,
    description=ANY,
    link=ANY,
    pub_date=MOMENT,
    arrived_at=MOMENT,
    expires_at=MOMENT,
    changed_at=MOMENT,
    content=st.none() | ANY,
    authors=st.lists(ANY, max_size=3).map(tuple),
    enclosures=st.lists(
        st.builds(ItemAttachment, ANY, st.none() | ANY, st.none() | st.integers(0, 2**53)),
        max_size=2,
    ).map(tuple),
    tags=st.lists(ANY, max_size=3).map(tuple),
    caller_id=st.none() | ANY,
)


@given(ITEMS)
def test_every_word_comes_back(item: KeptItem) -> None:
    text = encode_item(item)
    assert text.encode()
    assert decode_item(item.category, guid_key(item.guid), item.expires_at, text) == item


@given(UUID7, UUID7)
def test_keys_of_guids_sort_as_the_guids_do(one: str, other: str) -> None:
    assert (guid_key(one) < guid_key(other)) == (one < other)
    assert len(guid_key(one)) == 16


@given(ANY.filter(lambda text: "\0" not in text))
def test_any_guid_comes_back_from_its_key(guid: str) -> None:
    assert guid_of(guid_key(guid)) == guid


@given(ITEMS, ITEMS)
def test_a_revision_takes_words_and_leaves_the_rest(old: KeptItem, new: KeptItem) -> None:
    kept = revised(old, new)
    assert (kept.category, kept.guid, kept.caller_id) == (old.category, old.guid, old.caller_id)
    assert (kept.arrived_at, kept.expires_at) == (old.arrived_at, old.expires_at)
    assert kept.changed_at >= old.changed_at
    assert kept is old or (kept.title, kept.content) == (new.title, new.content)
    assert revised(kept, new) is kept


def test_the_same_words_are_no_revision() -> None:
    item = an_item("news", 1)
    assert revised(item, an_item("news", 2, title="Title 1")) is not item
    assert revised(item, an_item("news", 1, changed_at=BEGIN + 9)) is item
