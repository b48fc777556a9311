"""What people want of a sink: what it is made of, what is to change, and where it begins."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from headwater.announce.wanted import EVERYTHING, Wanted
from headwater.errors import BadInput
from headwater.subscribe.feed import KEEP, Keep
from headwater.values.url import redacted

NAME = r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}"
WEBHOOK = "webhook"
PERSONAL = "personal"
"""The engine's own sink, which fills personal feeds: it is always there, and nobody makes one."""
RELEASES = "releases"
"""Another of its own, which decides on releases: it is there while something is tracked."""
OWN_KINDS = frozenset({PERSONAL, RELEASES})
USUAL_ATTEMPTS: Mapping[str, int] = {WEBHOOK: 36}
"""Tries before an event dies, by kind: about a day and a half. The other kinds never give up."""


@dataclass(frozen=True, slots=True)
class Start:
    """Which event comes first: one of a number, the first at or after a moment, or the next."""

    seq: int | None = None
    moment: int | None = None


BEGINNING, END = Start(seq=1), Start()


@dataclass(frozen=True, slots=True)
class SinkWish:
    """A sink as somebody wants it. `max_attempts` that is not said is the kind's own."""

    name: str
    kind: str
    options: Mapping[str, Any] = field(default_factory=dict)
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)
    wanted: Wanted = EVERYTHING
    enabled: bool = True
    max_attempts: int | Keep | None = KEEP
    start: Start = END

    @property
    def attempts(self) -> int | None:
        kept = self.max_attempts
        return USUAL_ATTEMPTS.get(self.kind) if kept is KEEP else kept


@dataclass(frozen=True, slots=True)
class SinkChanges:
    """Only what is named changes. None: an option's default again, a secret taken away."""

    options: Mapping[str, Any] = field(default_factory=dict)
    secrets: Mapping[str, str | None] = field(default_factory=dict, repr=False)
    wanted: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    enabled: bool | Keep = KEEP
    max_attempts: int | Keep | None = KEEP

    @property
    def only_starts(self) -> bool:
        """Nothing is to be different, but it is to run."""
        return self == SinkChanges(enabled=True)


def is_name(text: str) -> bool:
    return re.fullmatch(NAME, text) is not None


def checked_name(name: str) -> str:
    if not is_name(name):
        raise BadInput(
            "A sink's name has 1 to 64 letters, digits, _, - and ., and begins with one of the"
            " first two.",
            field="name",
        )
    return name


def merged(before: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """None takes away.

    What is shown in place of a URL with secrets in it changes nothing: it comes back from those who
    send a whole record with one field changed.
    """
    meant = {
        name: before[name] if _is_shown(before.get(name), value) else value
        for name, value in changes.items()
    }
    return {name: v for name, v in (dict(before) | meant).items() if v is not None}


def _is_shown(kept: object, value: object) -> bool:
    return isinstance(kept, str) and value == redacted(kept)
