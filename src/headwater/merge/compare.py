"""From what is known and what a document shows to what must be written: nothing more than that."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from headwater.merge.entry import Entry, Known


@dataclass(frozen=True, slots=True)
class Drift:
    """A new uid for an entry we know: same link, same content, old uid gone from the document."""

    entry: Entry
    known: Known


@dataclass(frozen=True, slots=True)
class Changes:
    """Intents; the store carries them out.

    `returned` were known but away; `left` were in the last document and are not in this one.
    Neither touches what an entry says. `cut` counts new entries held back by a limit.
    """

    new: tuple[Entry, ...] = ()
    edited: tuple[tuple[Entry, Known], ...] = ()
    drifted: tuple[Drift, ...] = ()
    returned: tuple[Known, ...] = ()
    left: tuple[Known, ...] = ()
    repeated: int = 0
    cut: int = 0

    @property
    def touches_entries(self) -> bool:
        return bool(self.new or self.edited or self.drifted)


@dataclass(slots=True)
class _Sorted:
    """Work in progress of one comparison."""

    met: set[bytes] = field(default_factory=set)
    unknown: list[Entry] = field(default_factory=list)
    edited: list[tuple[Entry, Known]] = field(default_factory=list)
    returned: list[Known] = field(default_factory=list)
    repeated: int = 0


def compare(
    known: Mapping[bytes, Known],
    aliases: Mapping[bytes, bytes],
    shown: Iterable[Entry],
    *,
    room_for_new: int,
) -> Changes:
    """`known` holds the entries of the last document and every shown one that we ever had."""
    work = _Sorted()
    for entry in shown:
        _place(entry, known, aliases, work)
    away = [k for k in known.values() if k.present_since is not None and k.uid_key not in work.met]
    drifted = _drifts([e for e in work.unknown if e.uid_key not in aliases], away)
    renamed = {drift.entry.uid_key for drift in drifted}
    stayed = {drift.known.uid_key for drift in drifted}
    new = [entry for entry in work.unknown if entry.uid_key not in renamed]
    return Changes(
        new=tuple(new[:room_for_new]),
        edited=tuple(work.edited),
        drifted=tuple(drifted),
        returned=tuple(work.returned),
        left=tuple(k for k in away if k.uid_key not in stayed),
        repeated=work.repeated,
        cut=max(0, len(new) - room_for_new),
    )


def _place(
    entry: Entry, known: Mapping[bytes, Known], aliases: Mapping[bytes, bytes], work: _Sorted
) -> None:
    key = aliases.get(entry.uid_key, entry.uid_key)
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


def _drifts(unknown: list[Entry], away: list[Known]) -> list[Drift]:
    """Only a one-to-one match on link *and* content is sure enough to call it the same entry."""
    once_known = _unique((k.link_key, k.content_hash) for k in away)
    once_shown = _unique((e.link_key, e.content_hash) for e in unknown)
    candidates = {(k.link_key, k.content_hash): k for k in away}
    return [
        Drift(entry, candidates[mark])
        for entry in unknown
        if (mark := (entry.link_key, entry.content_hash)) in once_known
        and mark in once_shown
        and entry.link_key is not None
    ]


def _unique(marks: Iterable[tuple[bytes | None, str]]) -> set[tuple[bytes | None, str]]:
    return {mark for mark, count in Counter(marks).items() if count == 1}
