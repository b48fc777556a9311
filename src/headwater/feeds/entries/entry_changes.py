"""Changes of entries that a document brings: only these are written."""

from dataclasses import dataclass

from headwater.feeds.entries.entry import KnownEntry, NormalisedEntry


@dataclass(frozen=True, slots=True)
class ChangedUid:
    """A new uid for an entry we know: same link, same content, old uid gone from the document.

    Without links, same content is enough only when we ourselves gave up the old uid.
    """

    entry: NormalisedEntry
    known: KnownEntry


@dataclass(frozen=True, slots=True)
class MergeChanges:
    """Intents; the store carries them out.

    `returned` were known but away; `left` were in the last document and are not in this one;
    `hidden` are not in this one either, but it ends early and may have lost them. None of these
    touches what an entry says. `cut` counts new entries held back by a limit.
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
