"""The last step of every format: entries get their names and become unchangeable."""

from collections.abc import Sequence

from headwater.parse import accelerator
from headwater.parse.document import Entry
from headwater.parse.draft import EntryDraft
from headwater.parse.identity import IdentityMemory, identify

_NO_MEMORY = IdentityMemory()


def named_entries(drafts: Sequence[EntryDraft], url: str | None) -> tuple[Entry, ...]:
    """With uids as a first document's: the feed's own memory is the merge's to apply."""
    uids, _ = identify(drafts, url or "", _NO_MEMORY)
    return accelerator.in_use.finished(drafts, uids)
