"""Guids that lose our trust."""

from headwater.core.values.ids import index_key
from headwater.feeds.merge.decide_changes import newly_distrusted

A, B = index_key("a"), index_key("b")
TRUSTED = {"distrust_all": False, "ambiguous": []}
A_DOUBTED = {"distrust_all": False, "ambiguous": [A.hex()]}
ALL_DOUBTED = {"distrust_all": True, "ambiguous": []}


def test_a_guid_loses_trust_once() -> None:
    assert newly_distrusted([A, B], None, A_DOUBTED) == {A}
    assert newly_distrusted([A, B], TRUSTED, A_DOUBTED) == {A}
    assert newly_distrusted([A, B], A_DOUBTED, A_DOUBTED) == set()


def test_when_no_guid_is_trusted_any_more_the_others_follow() -> None:
    assert newly_distrusted([A, B], A_DOUBTED, ALL_DOUBTED) == {B}
    assert newly_distrusted([A, B], ALL_DOUBTED, ALL_DOUBTED) == set()
    assert newly_distrusted([A, B], {"distrust_all": True}, ALL_DOUBTED) == set()


def test_a_doubted_guid_that_is_no_entry_of_ours_says_nothing() -> None:
    assert newly_distrusted([B], TRUSTED, A_DOUBTED) == set()
    assert newly_distrusted([A, B], None, TRUSTED) == set()
