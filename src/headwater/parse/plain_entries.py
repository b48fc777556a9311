"""Read the entries of one document in plain Python, element by element."""

from lxml import etree

from headwater.parse.draft import Context, Dispatch, DraftNotes, EntryDraft


class PlainEntryReader:
    """Hands each child of an entry to its reader. `native.entries` does the same, compiled."""

    __slots__ = ("_context", "_readers")

    def __init__(self, context: Context, readers: Dispatch) -> None:
        self._context, self._readers = context, readers

    draft, spare = EntryDraft, DraftNotes

    def read(self, draft: EntryDraft, element: etree._Element, language: str | None) -> None:
        """Read all children in their order. `language` is the entry's."""
        readers, context = self._readers, self._context
        for child in element:
            readers[child.tag](draft, child, context)
