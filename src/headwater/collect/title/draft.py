"""A release while its title is being read: what is known of it so far, and why."""

from dataclasses import dataclass, field
from typing import Any

from headwater.collect.release import Release
from headwater.collect.title.layout import Layout
from headwater.collect.title.numbering import Numbering
from headwater.collect.title.regions import Span
from headwater.collect.title.trace import Note


@dataclass(slots=True)
class Draft:
    """`regions` is where the names stand; `fields` are those of `Release`."""

    layout: Layout
    numbering: Numbering | None
    regions: list[Span]
    fields: dict[str, Any] = field(default_factory=dict)
    notes: list[Note] = field(default_factory=list)

    def say(self, name: str, value: object, text: str, rule: str) -> None:
        """Write a field down, with the piece of the title and the rule that speak for it."""
        self.fields[name] = value
        self.notes.append((name, value, text, rule))

    def finished(self) -> Release:
        return Release(**self.fields)
