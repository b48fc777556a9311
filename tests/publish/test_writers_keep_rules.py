"""Whatever is published, in whichever format: every rule of that format holds."""

import pytest
from hypothesis import given

from headwater.publish.atom import render_atom
from headwater.publish.document import PublishedFeed
from headwater.publish.json_feed import render_json_feed
from headwater.publish.rss import render_rss
from tests.support import feed_rules_atom, feed_rules_json, feed_rules_rss
from tests.support.hostile_texts import documents, patient
from tests.support.published_documents import a_document, an_item


@patient
@given(document=documents)
def test_rss_keeps_every_rule(document: PublishedFeed) -> None:
    assert feed_rules_rss.broken(render_rss(document)) == []


@patient
@given(document=documents)
def test_atom_keeps_every_rule(document: PublishedFeed) -> None:
    assert feed_rules_atom.broken(render_atom(document)) == []


@patient
@given(document=documents)
def test_json_feed_keeps_every_rule(document: PublishedFeed) -> None:
    assert feed_rules_json.broken(render_json_feed(document)) == []


@pytest.mark.parametrize("count", [0, 1, 50])
def test_an_ordinary_feed_keeps_every_rule(count: int) -> None:
    document = a_document(*(an_item(number) for number in range(count)))
    assert feed_rules_rss.broken(render_rss(document)) == []
    assert feed_rules_atom.broken(render_atom(document)) == []
    assert feed_rules_json.broken(render_json_feed(document)) == []
