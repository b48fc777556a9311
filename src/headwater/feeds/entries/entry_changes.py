"""Changes of entries that a document brings. Only these are written."""

from dataclasses import dataclass

from headwater.feeds.entries.entry import KnownEntry, NormalisedEntry


@dataclass(frozen=True, slots=True)
class ChangedUid:
    """A new uid for a known entry: same link, same content, and the old uid has left the document.

    Without links, the same content is enough only when we ourselves stopped trusting the old uid.
    """

    entry: NormalisedEntry
    known: KnownEntry


@dataclass(frozen=True, slots=True)
class MergeChanges:
    """The changes to write, decided but not yet written.

    `returned` were known but away; `left` were in the last document and are not in this one;
    `hidden` are not in this one either, but it ends early and may have lost them. None of these
    changes an entry's content. `cut` counts new entries held back by a limit.
    """

    new: tuple[NormalisedEntry, ...] = ()
    edited: tuple[tuple[NormalisedEntry, KnownEntry], ...] = ()
    drifted: tuple[ChangedUid, ...] = ()
    returned: tuple[KnownEntry, ...] = ()
    left: tuple[KnownEntry, ...] = ()
    hidden: tuple[KnownEntry, ...] = ()
    repeated: int = 0
    cut: int = 0

    @property
    def touches_entries(self) -> bool:
        return bool(self.new or self.edited or self.drifted)


NO_CHANGES = MergeChanges()
