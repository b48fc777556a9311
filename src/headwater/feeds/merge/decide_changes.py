"""Decide what changes when a document was read: only what must be written, nothing more."""

from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from headwater.feeds.entries.entry import KnownEntry, NormalisedEntry
from headwater.feeds.entries.entry_changes import ChangedUid, MergeChanges
from headwater.parse.identity import IdentityMemory


@dataclass(slots=True)
class _ComparisonState:
    """Work in progress of one comparison. `named` are the uids the document itself uses."""

    named: set[bytes]
    met: set[bytes] = field(default_factory=set)
    unknown: list[NormalisedEntry] = field(default_factory=list)
    edited: list[tuple[NormalisedEntry, KnownEntry]] = field(default_factory=list)
    returned: list[KnownEntry] = field(default_factory=list)
    repeated: int = 0


def decide_changes(
    known: Mapping[bytes, KnownEntry],
    aliases: Mapping[bytes, bytes],
    shown: Sequence[NormalisedEntry],
    *,
    room_for_new: int,
    ends_early_as: int | None = None,
    distrusted: Container[bytes] = (),
) -> MergeChanges:
    """`known` holds the entries of the last document and every shown one that we ever had.

    `ends_early_as` is the ordinal of a document that is not whole; `distrusted` are the uids that
    no document shows any more because we have just stopped trusting them.
    """
    if not known and not aliases:
        return _all_new(shown, room_for_new)
    work = _ComparisonState({entry.uid_key for entry in shown})
    for entry in shown:
        _classify_entry(entry, known, aliases, work)
    away = [k for k in known.values() if k.present_since is not None and k.uid_key not in work.met]
    drifted = _find_changed_uids(
        [e for e in work.unknown if e.uid_key not in aliases], away, distrusted
    )
    renamed = {drift.entry.uid_key for drift in drifted}
    stayed = {drift.known.uid_key for drift in drifted}
    new = [entry for entry in work.unknown if entry.uid_key not in renamed]
    missing = [k for k in away if k.uid_key not in stayed]
    return MergeChanges(
        new=tuple(new[:room_for_new]),
        edited=tuple(work.edited),
        drifted=tuple(drifted),
        returned=tuple(work.returned),
        left=tuple(k for k in missing if not _may_be_hidden(k, ends_early_as)),
        hidden=tuple(k for k in missing if _may_be_hidden(k, ends_early_as)),
        repeated=work.repeated,
        cut=max(0, len(new) - room_for_new),
    )


def _all_new(shown: Sequence[NormalisedEntry], room: int) -> MergeChanges:
    """A feed's first document: nothing to compare with; of a repeated uid the first one counts."""
    once: dict[bytes, NormalisedEntry] = {}
    for entry in shown:
        once.setdefault(entry.uid_key, entry)
    new = tuple(once.values())
    repeated, cut = len(shown) - len(new), max(0, len(new) - room)
    return MergeChanges(new=new[:room], repeated=repeated, cut=cut)


def _classify_entry(
    entry: NormalisedEntry,
    known: Mapping[bytes, KnownEntry],
    aliases: Mapping[bytes, bytes],
    work: _ComparisonState,
) -> None:
    key = _resolved_key(entry, known, aliases, work.named)
    if key in work.met:
        work.repeated += 1
        return
    work.met.add(key)
    before = known.get(key)
    if before is None:
        work.unknown.append(entry)
        return
    if before.content_hash != entry.content_hash:
        work.edited.append((entry, before))
    if before.present_since is None:
        work.returned.append(before)


def _resolved_key(
    entry: NormalisedEntry,
    known: Mapping[bytes, KnownEntry],
    aliases: Mapping[bytes, bytes],
    named: set[bytes],
) -> bytes:
    """An alias is a guess: where a document shows both uids it shows two entries.

    From then on each of them is known by its own uid.
    """
    meant = aliases.get(entry.uid_key, entry.uid_key)
    return entry.uid_key if meant in named or entry.uid_key in known else meant


def _may_be_hidden(known: KnownEntry, ends_early_as: int | None) -> bool:
    """It may be in the part that is lost; but two such documents in a row are answer enough.

    Else the entries of a feed that is never whole would stay present for ever.
    """
    if ends_early_as is None or known.present_since is None:
        return False
    return known.present_since < ends_early_as


def _find_changed_uids(
    unknown: list[NormalisedEntry], away: list[KnownEntry], distrusted: Container[bytes]
) -> list[ChangedUid]:
    """Only a one-to-one match on link *and* content is sure enough to call it the same entry."""
    once_known = _unique((k.link_key, k.content_hash) for k in away)
    once_shown = _unique((e.link_key, e.content_hash) for e in unknown)
    candidates = {(k.link_key, k.content_hash): k for k in away}
    return [
        ChangedUid(entry, candidates[mark])
        for entry in unknown
        if (mark := (entry.link_key, entry.content_hash)) in once_known
        and mark in once_shown
        and (entry.link_key is not None or candidates[mark].uid_key in distrusted)
    ]


def _unique(marks: Iterable[tuple[bytes | None, str]]) -> set[tuple[bytes | None, str]]:
    return {mark for mark, count in Counter(marks).items() if count == 1}


Stored = Mapping[str, Any] | None
"""An `IdentityMemory` as JSON, or None where nothing was learnt yet."""


def newly_distrusted(uid_keys: Iterable[bytes], before: Stored, now: Stored) -> frozenset[bytes]:
    """Nearly always none: guids are rarely doubted, and each only once."""
    if before == now:
        return frozenset()
    old, new = IdentityMemory.from_json(before or {}), IdentityMemory.from_json(now or {})
    if old.distrust_all:
        return frozenset()
    doubted = frozenset(uid_keys) if new.distrust_all else new.ambiguous.intersection(uid_keys)
    return doubted - old.ambiguous
