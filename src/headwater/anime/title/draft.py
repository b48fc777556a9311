"""A release while its title is being read: what is known of it so far, and why."""

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from headwater.anime.release import Release
from headwater.anime.title.episode import Numbering
from headwater.anime.title.layout import Layout
from headwater.anime.title.names import TitleSpan

Note = tuple[str, object, str, str]
"""A field, its value, the piece of the title and the rule, as they are written down in haste."""


class Finding(NamedTuple):
    """`text` is the piece of the title, `rule` the name of what was seen in it."""

    field: str
    value: str
    text: str
    rule: str


def findings(notes: tuple[Note, ...]) -> tuple[Finding, ...]:
    """Notes in words; of a field that was said in several steps, each step."""
    return tuple(
        Finding(field, _shown(value), text.strip(), rule) for field, value, text, rule in notes
    )


def _shown(value: object) -> str:
    if isinstance(value, tuple):
        return " + ".join(str(one) for one in value)
    if isinstance(value, frozenset):
        return " + ".join(sorted(str(one) for one in value))
    if isinstance(value, dict):
        return " · ".join(f"{key}: {one}" for key, one in value.items())
    return "yes" if value is True else str(value)


@dataclass(slots=True)
class TitleDraft:
    """`regions` is where the names stand; `fields` are those of `Release`."""

    layout: Layout
    numbering: Numbering | None
    regions: list[TitleSpan]
    fields: dict[str, Any] = field(default_factory=dict)
    notes: list[Note] = field(default_factory=list)

    def say(self, name: str, value: object, text: str, rule: str) -> None:
        """Write a field down, with the piece of the title and the rule that speak for it."""
        self.fields[name] = value
        self.notes.append((name, value, text, rule))

    def finished(self) -> Release:
        return Release(**self.fields)
