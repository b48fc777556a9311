"""Assembly, the last step of all formats: entries get their uids and become immutable."""

from collections.abc import Sequence

from headwater.parse import accelerator
from headwater.parse.document import Entry
from headwater.parse.draft import EntryDraft
from headwater.parse.identity import IdentityMemory, identify

_NO_MEMORY = IdentityMemory()


def named_entries(drafts: Sequence[EntryDraft], url: str | None) -> tuple[Entry, ...]:
    """Uids are given as for a first document: the merge applies the feed's own memory."""
    uids, _ = identify(drafts, url or "", _NO_MEMORY)
    return accelerator.in_use.finished(drafts, uids)
