"""The accelerator: the compiled backend of the parser where it was built, else plain Python."""

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import NamedTuple, Protocol

from lxml import etree

from headwater.parse import lift
from headwater.parse.document import Entry
from headwater.parse.draft import Context, Dispatch, DraftNotes, EntryDraft, finished_entries
from headwater.parse.lift import Places
from headwater.parse.plain_entries import PlainEntryReader


class EntryReader(Protocol):
    """Read the children of the entries of one document."""

    def draft(self) -> EntryDraft: ...
    def spare(self) -> DraftNotes: ...
    def read(self, draft: EntryDraft, element: etree._Element, language: str | None) -> None: ...


class ParserBackend(NamedTuple):
    """How to read and finish entries, and how to lift long texts out of a document before."""

    reader: Callable[[Context, Dispatch], EntryReader]
    finished: Callable[[Sequence[EntryDraft], Sequence[str]], tuple[Entry, ...]]
    lifted: Callable[[bytes], tuple[bytes, dict[str, str], Places]]


def _load_compiled() -> tuple[ParserBackend | None, str]:
    """The compiled backend, or None with the reason why it cannot be loaded."""
    try:
        entries = import_module("headwater.parse.native.entries")
        lifting = import_module("headwater.parse.native.lifting")
    except Exception as trouble:  # noqa: BLE001 -- compiled for another lxml or Headwater: not ours
        return None, str(trouble)
    return ParserBackend(entries.EntryReader, entries.finished_entries, lifting.lifted), ""


PLAIN = ParserBackend(PlainEntryReader, finished_entries, lift.lifted)
COMPILED, _missing = _load_compiled()
in_use = COMPILED or PLAIN
"""The backend that the parser uses."""


def describe() -> str:
    return "compiled" if COMPILED is not None else f"plain Python, nothing is compiled ({_missing})"
