"""Diff entries of two documents, field by field, short enough to be shown."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from headwater.core.values.instant import rfc3339_at
from headwater.feeds.entries.entry import NormalisedEntry

DifferenceKind = Literal["added", "removed", "changed"]

FIELDS = (
    "link", "title", "summary", "content", "authors", "categories", "enclosures", "details",
    "published", "updated",
)  # fmt: skip
"""The content of an entry. Its hash and its keys are made of these."""

_MOMENTS = {"published", "updated"}
_MOST_SHOWN = 120
_CONTEXT = 24


@dataclass(frozen=True, slots=True)
class FieldChange:
    """A field before and after.

    Long texts are cut to the part that differs, with … for the rest.
    """

    name: str
    before: str | None
    after: str | None


@dataclass(frozen=True, slots=True)
class Difference:
    """`silent`: the content has changed, and the entry's own dates have not."""

    uid: str
    kind: DifferenceKind
    title: str | None
    fields: tuple[FieldChange, ...] = ()
    silent: bool = False


def compared_values(entry: NormalisedEntry) -> dict[str, Any]:
    return {name: getattr(entry, name) for name in FIELDS}


def field_changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> tuple[FieldChange, ...]:
    """The fields that differ, in their usual order."""
    return tuple(
        FieldChange(name, *_shown(name, before[name], after[name]))
        for name in FIELDS
        if before[name] != after[name]
    )


def diff_entry(uid: str, before: Mapping[str, Any], after: Mapping[str, Any]) -> Difference | None:
    """None when both have the same content."""
    fields = field_changes(before, after)
    if not fields:
        return None
    silent = before["updated"] == after["updated"] and before["published"] == after["published"]
    return Difference(uid, "changed", after["title"], fields, silent)


def diff_entries(
    before: Sequence[NormalisedEntry], after: Sequence[NormalisedEntry]
) -> list[Difference]:
    """In the order of the later document; entries that it no longer has come last.

    When a document shows a uid twice, the first counts, as it does when entries are stored.
    """
    old, new = _by_uid(before), _by_uid(after)
    differences = []
    for key, entry in new.items():
        if key not in old:
            differences.append(Difference(entry.uid, "added", entry.title))
        elif change := diff_entry(entry.uid, compared_values(old[key]), compared_values(entry)):
            differences.append(change)
    gone = [
        Difference(entry.uid, "removed", entry.title)
        for key, entry in old.items()
        if key not in new
    ]
    return differences + gone


def _by_uid(entries: Sequence[NormalisedEntry]) -> dict[bytes, NormalisedEntry]:
    first: dict[bytes, NormalisedEntry] = {}
    for entry in entries:
        first.setdefault(entry.uid_key, entry)
    return first


def _shown(name: str, before: Any, after: Any) -> tuple[str | None, str | None]:
    if name in _MOMENTS:
        return _moment(before), _moment(after)
    if before is None or after is None:
        return _cut(before), _cut(after)
    return _excerpts(before, after)


def _moment(micros: int | None) -> str | None:
    return None if micros is None else rfc3339_at(micros)


def _cut(text: str | None) -> str | None:
    return text if text is None or len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}…"


def _excerpts(before: str, after: str) -> tuple[str, str]:
    """Most of the text that both begin and end with is left out, in linear time."""
    if max(len(before), len(after)) <= _MOST_SHOWN:
        return before, after
    start = _common_length(before, after)
    most = min(len(before), len(after)) - start
    end = _common_length(before[::-1], after[::-1], most)
    begin = max(0, start - _CONTEXT)
    return _part(before, begin, len(before) - end), _part(after, begin, len(after) - end)


def _part(text: str, begin: int, end: int) -> str:
    end = min(len(text), end + _CONTEXT)
    shown = text[begin:end]
    if len(shown) > _MOST_SHOWN:
        shown, end = shown[:_MOST_SHOWN], begin + _MOST_SHOWN
    return f"{'…' if begin else ''}{shown}{'…' if end < len(text) else ''}"


def _common_length(one: str, other: str, most: int | None = None) -> int:
    """How many characters both begin with, by halving: slices compare at memory's speed."""
    least, top = 0, min(len(one), len(other)) if most is None else most
    while least < top:
        middle = (least + top + 1) // 2
        if one[least:middle] == other[least:middle]:
            least = middle
        else:
            top = middle - 1
    return least
