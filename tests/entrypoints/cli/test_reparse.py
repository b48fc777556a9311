"""What many pages of a reparse come to: every difference counted, some of them kept to be shown."""

from typing import Any

from headwater.entrypoints.cli.reparse import DIFFERENCES_KEPT, ReparseTotals


def page(differences: int, cut: int = 0) -> dict[str, Any]:
    found = [{"entry_uid": str(n), "kind": "changed"} for n in range(differences)]
    return {
        "feed_id": "f",
        "payloads": 1,
        "same": 0,
        "added": 0,
        "changed": differences + cut,
        "removed": 0,
        "cut": cut,
        "differences": found,
        "unread": [],
    }


def test_however_much_differs_only_so_much_is_kept_and_the_rest_is_counted() -> None:
    total = ReparseTotals(dry_run=True)
    for _ in range(12):
        total.add(page(1_000, cut=5))
    assert (DIFFERENCES_KEPT, len(total.differences)) == (10_000, 10_000)
    assert (total.changed, total.cut) == (12_060, 2_060)
