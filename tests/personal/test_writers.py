"""Whatever is published, in whichever format: every rule of that format holds."""

import pytest
from hypothesis import given

from headwater.publish.atom_xml import atom_xml
from headwater.publish.document import Document
from headwater.publish.json_feed import json_feed
from headwater.publish.rss_xml import rss_xml
from tests.personal import rules_atom, rules_json, rules_rss
from tests.personal.hostile import documents, patient
from tests.publish.shown import a_document, an_item


@patient
@given(document=documents)
def test_rss_keeps_every_rule(document: Document) -> None:
    assert rules_rss.broken(rss_xml(document)) == []


@patient
@given(document=documents)
def test_atom_keeps_every_rule(document: Document) -> None:
    assert rules_atom.broken(atom_xml(document)) == []


@patient
@given(document=documents)
def test_json_feed_keeps_every_rule(document: Document) -> None:
    assert rules_json.broken(json_feed(document)) == []


@pytest.mark.parametrize("count", [0, 1, 50])
def test_an_ordinary_feed_keeps_every_rule(count: int) -> None:
    document = a_document(*(an_item(number) for number in range(count)))
    assert rules_rss.broken(rss_xml(document)) == []
    assert rules_atom.broken(atom_xml(document)) == []
    assert rules_json.broken(json_feed(document)) == []
