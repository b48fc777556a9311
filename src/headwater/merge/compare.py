"""From what is known and what a document shows to what must be written: nothing more than that."""

from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from headwater.merge.entry import Entry, Known


@dataclass(frozen=True, slots=True)
class Drift:
    """A new uid for an entry we know: same link, same content, old uid gone from the document.

    Without links, same content is enough only when we ourselves gave up the old uid.
    """

    entry: Entry
    known: Known


@dataclass(frozen=True, slots=True)
class Changes:
    """Intents; the store carries them out.

    `returned` were known but away; `left` were in the last document and are not in this one;
    `hidden` are not in this one either, but it ends early and may have lost them. None of these
    touches what an entry says. `cut` counts new entries held back by a limit.
    """

    new: tuple[Entry, ...] = ()
    edited: tuple[tuple[Entry, Known], ...] = ()
    drifted: tuple[Drift, ...] = ()
    returned: tuple[Known, ...] = ()
    left: tuple[Known, ...] = ()
    hidden: tuple[Known, ...] = ()
    repeated: int = 0
    cut: int = 0

    @property
    def touches_entries(self) -> bool:
        return bool(self.new or self.edited or self.drifted)


NO_CHANGES = Changes()


@dataclass(slots=True)
class _Sorted:
    """Work in progress of one comparison. `named` are the uids the document itself uses."""

    named: set[bytes]
    met: set[bytes] = field(default_factory=set)
    unknown: list[Entry] = field(default_factory=list)
    edited: list[tuple[Entry, Known]] = field(default_factory=list)
    returned: list[Known] = field(default_factory=list)
    repeated: int = 0


def compare(
    known: Mapping[bytes, Known],
    aliases: Mapping[bytes, bytes],
    shown: Sequence[Entry],
    *,
    room_for_new: int,
    ends_early_as: int | None = None,
    distrusted: Container[bytes] = (),
) -> Changes:
    """`known` holds the entries of the last document and every shown one that we ever had.

    `ends_early_as` is the ordinal of a document that is not whole; `distrusted` are the uids that
    no document shows any more because we have just stopped trusting them.
    """
    if not known and not aliases:
        return _all_new(shown, room_for_new)
    work = _Sorted({entry.uid_key for entry in shown})
    for entry in shown:
        _place(entry, known, aliases, work)
    away = [k for k in known.values() if k.present_since is not None and k.uid_key not in work.met]
    drifted = _drifts([e for e in work.unknown if e.uid_key not in aliases], away, distrusted)
    renamed = {drift.entry.uid_key for drift in drifted}
    stayed = {drift.known.uid_key for drift in drifted}
    new = [entry for entry in work.unknown if entry.uid_key not in renamed]
    missing = [k for k in away if k.uid_key not in stayed]
    return Changes(
        new=tuple(new[:room_for_new]),
        edited=tuple(work.edited),
        drifted=tuple(drifted),
        returned=tuple(work.returned),
        left=tuple(k for k in missing if not _may_be_hidden(k, ends_early_as)),
        hidden=tuple(k for k in missing if _may_be_hidden(k, ends_early_as)),
        repeated=work.repeated,
        cut=max(0, len(new) - room_for_new),
    )


def _all_new(shown: Sequence[Entry], room: int) -> Changes:
    """A feed's first document: nothing to compare with; of a repeated uid the first one counts."""
    once: dict[bytes, Entry] = {}
    for entry in shown:
        once.setdefault(entry.uid_key, entry)
    new = tuple(once.values())
    repeated, cut = len(shown) - len(new), max(0, len(new) - room)
    return Changes(new=new[:room], repeated=repeated, cut=cut)


def _place(
    entry: Entry, known: Mapping[bytes, Known], aliases: Mapping[bytes, bytes], work: _Sorted
) -> None:
    key = _meant(entry, known, aliases, work.named)
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


def _meant(
    entry: Entry, known: Mapping[bytes, Known], aliases: Mapping[bytes, bytes], named: set[bytes]
) -> bytes:
    """An alias is a guess: where a document shows both uids it shows two entries.

    From then on each of them is known by its own uid.
    """
    meant = aliases.get(entry.uid_key, entry.uid_key)
    return entry.uid_key if meant in named or entry.uid_key in known else meant


def _may_be_hidden(known: Known, ends_early_as: int | None) -> bool:
    """It may be in the part that is lost; but two such documents in a row are answer enough.

    Else the entries of a feed that is never whole would stay present for ever.
    """
    if ends_early_as is None or known.present_since is None:
        return False
    return known.present_since < ends_early_as


def _drifts(unknown: list[Entry], away: list[Known], distrusted: Container[bytes]) -> list[Drift]:
    """Only a one-to-one match on link *and* content is sure enough to call it the same entry."""
    once_known = _unique((k.link_key, k.content_hash) for k in away)
    once_shown = _unique((e.link_key, e.content_hash) for e in unknown)
    candidates = {(k.link_key, k.content_hash): k for k in away}
    return [
        Drift(entry, candidates[mark])
        for entry in unknown
        if (mark := (entry.link_key, entry.content_hash)) in once_known
        and mark in once_shown
        and (entry.link_key is not None or candidates[mark].uid_key in distrusted)
    ]


def _unique(marks: Iterable[tuple[bytes | None, str]]) -> set[tuple[bytes | None, str]]:
    return {mark for mark, count in Counter(marks).items() if count == 1}
