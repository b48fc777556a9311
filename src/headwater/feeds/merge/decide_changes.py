"""Decide the changes that a document brings: only those that must be written."""

from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from headwater.feeds.entries.entry import KnownEntry, NormalisedEntry
from headwater.feeds.entries.entry_changes import ChangedUid, MergeChanges
from headwater.parse.identity import IdentityMemory


@dataclass(slots=True)
class _ComparisonState:
    """A comparison under way. `named` are the uids that the document itself uses."""

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
    """Compare the entries shown by a document with the known ones.

    `known` holds the entries of the last document, and each shown entry that we ever had.
    `ends_early_as` is the ordinal of a document that is not whole. `distrusted` are the uids that
    no document shows any more because we have just stopped trusting them.
    """
    if not known and not aliases:
        return _all_new(shown, room_for_new)
    state = _ComparisonState({entry.uid_key for entry in shown})
    for entry in shown:
        _classify_entry(entry, known, aliases, state)
    away = [k for k in known.values() if k.present_since is not None and k.uid_key not in state.met]
    drifted = _find_changed_uids(
        [e for e in state.unknown if e.uid_key not in aliases], away, distrusted
    )
    renamed = {drift.entry.uid_key for drift in drifted}
    stayed = {drift.known.uid_key for drift in drifted}
    new = [entry for entry in state.unknown if entry.uid_key not in renamed]
    missing = [k for k in away if k.uid_key not in stayed]
    return MergeChanges(
        new=tuple(new[:room_for_new]),
        edited=tuple(state.edited),
        drifted=tuple(drifted),
        returned=tuple(state.returned),
        left=tuple(k for k in missing if not _may_be_hidden(k, ends_early_as)),
        hidden=tuple(k for k in missing if _may_be_hidden(k, ends_early_as)),
        repeated=state.repeated,
        cut=max(0, len(new) - room_for_new),
    )


def _all_new(shown: Sequence[NormalisedEntry], room: int) -> MergeChanges:
    """A feed's first document has nothing to compare with. Of a repeated uid the first counts."""
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
    state: _ComparisonState,
) -> None:
    key = resolved_key(entry, known, aliases, state.named)
    if key in state.met:
        state.repeated += 1
        return
    state.met.add(key)
    before = known.get(key)
    if before is None:
        state.unknown.append(entry)
        return
    if before.content_hash != entry.content_hash:
        state.edited.append((entry, before))
    if before.present_since is None:
        state.returned.append(before)


def resolved_key(
    entry: NormalisedEntry,
    known: Mapping[bytes, KnownEntry],
    aliases: Mapping[bytes, bytes],
    named: set[bytes],
) -> bytes:
    """The key of the entry that this one is, by its own uid or by an alias.

    An alias is a guess: a document that shows both uids (`named`) shows two entries. From then on
    each of them is known by its own uid.
    """
    key = aliases.get(entry.uid_key, entry.uid_key)
    return entry.uid_key if key in named or entry.uid_key in known else key


def _may_be_hidden(known: KnownEntry, ends_early_as: int | None) -> bool:
    """The entry may be in the lost part; after two such documents in a row it counts as left.

    Else the entries of a feed that is never whole would stay present for ever.
    """
    if ends_early_as is None or known.present_since is None:
        return False
    return known.present_since < ends_early_as


def _find_changed_uids(
    unknown: list[NormalisedEntry], away: list[KnownEntry], distrusted: Container[bytes]
) -> list[ChangedUid]:
    """Only a one-to-one match on link *and* content makes it the same entry."""
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
"""An `IdentityMemory` as JSON, or None when nothing was learnt yet."""


def newly_distrusted(uid_keys: Iterable[bytes], before: Stored, now: Stored) -> frozenset[bytes]:
    """The uids that we stop trusting now. Nearly always none, and each only once."""
    if before == now:
        return frozenset()
    old, new = IdentityMemory.from_json(before or {}), IdentityMemory.from_json(now or {})
    if old.distrust_all:
        return frozenset()
    doubted = frozenset(uid_keys) if new.distrust_all else new.ambiguous.intersection(uid_keys)
    return doubted - old.ambiguous
