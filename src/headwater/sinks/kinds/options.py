"""Read the options of a sink one by one: each is checked, and unknown ones are refused."""

from collections.abc import Mapping, Sequence
from typing import Any

from headwater.core.errors import BadInput

LONGEST_TEXT = 2_048


class SinkOptions:
    """Options or secrets of one sink. Read each that there may be, then `refuse_others`."""

    def __init__(self, what: str, values: Mapping[str, Any]) -> None:
        """`what` is for messages: `webhook`, or `webhook secret`."""
        self._what, self._values = what, values
        self._read: set[str] = set()

    def text(self, name: str, default: str | None = None, *, longest: int = LONGEST_TEXT) -> str:
        """A text that is not empty. Without a default it must be there."""
        value = self.maybe_text(name, longest=longest)
        if value is None:
            value = default
        if value is None:
            raise self.refusal(name, "must be given")
        return value

    def maybe_text(self, name: str, *, longest: int = LONGEST_TEXT) -> str | None:
        value = self._value(name)
        if value is None:
            return None
        if not isinstance(value, str) or not value.strip():
            raise self.refusal(name, "must be a text, and not an empty one")
        if len(value) > longest:
            raise self.refusal(name, f"may have {longest} characters")
        if not value.isprintable():
            raise self.refusal(name, "has a character in it that cannot be printed")
        return value

    def flag(self, name: str, default: bool) -> bool:
        value = self._value(name)
        if value is None:
            return default
        if not isinstance(value, bool):
            raise self.refusal(name, "must be true or false")
        return value

    def choice(self, name: str, default: str, choices: Sequence[str]) -> str:
        value = self._value(name)
        if value is None:
            return default
        if value not in choices:
            raise self.refusal(name, f"must be one of {', '.join(choices)}")
        return str(value)

    def number(self, name: str, default: float, *, least: float, most: float) -> float:
        value = self._value(name)
        if value is None:
            return default
        # In Python a bool is an int, for people it is not; NaN is not between any two numbers.
        if not isinstance(value, int | float) or isinstance(value, bool):
            raise self.refusal(name, "must be a number")
        if not least <= value <= most:
            raise self.refusal(name, f"must be between {least:g} and {most:g}")
        return float(value)

    def maybe_whole(self, name: str, default: int | None, *, least: int, most: int) -> int | None:
        """A whole number; None is no limit, for options that have that."""
        value = self._value(name)
        if value is None:
            return None if name in self._values else default
        if not isinstance(value, int) or isinstance(value, bool):
            raise self.refusal(name, "must be a whole number")
        if not least <= value <= most:
            raise self.refusal(name, f"must be between {least} and {most}")
        return value

    def refuse_others(self) -> None:
        """Refuse options that were not read: a mistyped one would do nothing, silently."""
        for name in self._values:
            if name not in self._read:
                known = ", ".join(sorted(self._read)) or "none"
                raise self.refusal(str(name)[:100], f"is unknown; there are: {known}")

    def refusal(self, name: str, why: str) -> BadInput:
        return BadInput(f"The {self._what} option {name!r} {why}.", field=name)

    def _value(self, name: str) -> Any:
        self._read.add(name)
        return self._values.get(name)
