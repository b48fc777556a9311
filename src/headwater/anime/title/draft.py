"""The draft of a release while steps 6 to 9 read its title: its fields so far, with reasons."""

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from headwater.anime.release import Release
from headwater.anime.title.episode import Numbering
from headwater.anime.title.layout import Layout
from headwater.anime.title.names import TitleSpan

Note = tuple[str, object, str, str]
"""A field, its value, the piece of the title and the rule. A tuple, because it is made often."""


class Finding(NamedTuple):
    """One step of the reading. `text` is the piece of the title, `rule` the name of the rule that
    matched it."""

    field: str
    value: str
    text: str
    rule: str


def findings(notes: tuple[Note, ...]) -> tuple[Finding, ...]:
    """Notes in words. A field that was set in several steps has a finding for each."""
    return tuple(
        Finding(field, _format_value(value), text.strip(), rule)
        for field, value, text, rule in notes
    )


def _format_value(value: object) -> str:
    if isinstance(value, tuple):
        return " + ".join(map(str, value))
    if isinstance(value, frozenset):
        return " + ".join(sorted(map(str, value)))
    if isinstance(value, dict):
        return " · ".join(f"{key}: {item}" for key, item in value.items())
    return "yes" if value is True else str(value)


@dataclass(slots=True)
class TitleDraft:
    """`regions` is where the names stand; `fields` are those of `Release`."""

    layout: Layout
    numbering: Numbering | None
    regions: list[TitleSpan]
    fields: dict[str, Any] = field(default_factory=dict)
    notes: list[Note] = field(default_factory=list)

    def set_field(self, name: str, value: object, text: str, rule: str) -> None:
        """Set a field, and note the piece of the title and the rule it comes from."""
        self.fields[name] = value
        self.notes.append((name, value, text, rule))

    def finished(self) -> Release:
        return Release(**self.fields)
