"""Drafts become entries: the same values, and nobody can change them any more."""

from collections.abc import Sequence
from dataclasses import FrozenInstanceError, fields

import pytest

from headwater.parse import accelerator
from headwater.parse.document import Entry, Text
from headwater.parse.draft import EntryDraft
from tests.fuzz.ways import compiled


def finished(drafts: Sequence[EntryDraft], *uids: str) -> tuple[Entry, ...]:
    return accelerator.in_use.finished(drafts, uids)


def test_an_entry_has_every_value_of_its_draft() -> None:
    draft = EntryDraft()
    for field in fields(Entry):
        setattr(draft, field.name, f"the {field.name}")
    (entry,) = finished([draft], "its name")
    assert type(entry) is Entry
    values = {field.name: getattr(entry, field.name) for field in fields(Entry)}
    assert values.pop("uid") == "its name"
    assert values == {name: f"the {name}" for name in values}


def test_finished_entries_are_those_that_their_class_makes() -> None:
    first, second = EntryDraft(), EntryDraft()
    first.title = Text("High water")
    entries = finished([first, second], "a", "b")
    assert entries == (Entry(uid="a", title=Text("High water")), Entry(uid="b"))
    with pytest.raises(FrozenInstanceError):
        entries[0].uid = "c"  # type: ignore[misc]


def test_every_draft_needs_a_name() -> None:
    with pytest.raises(ValueError, match="shorter"):
        finished([EntryDraft()])


def test_the_compiled_way_takes_nothing_but_drafts() -> None:
    with pytest.raises(TypeError, match="Text is no draft of an entry"):
        compiled().finished([Text("x")], ["a"])  # type: ignore[list-item]
