"""What somebody wrote down for a sink, read option by option: each checked, none overlooked."""

from collections.abc import Mapping, Sequence
from typing import Any

from headwater.core.errors import BadInput

LONGEST_TEXT = 2_048


class SinkOptions:
    """Options or secrets of one sink. Ask for each that there may be, then `refuse_others`."""

    def __init__(self, what: str, given: Mapping[str, Any]) -> None:
        """`what` is said in refusals: `webhook`, or `webhook secret`."""
        self._what, self._given = what, given
        self._asked: set[str] = set()

    def text(self, name: str, default: str | None = None, *, longest: int = LONGEST_TEXT) -> str:
        """Not empty. Without a default it must be given."""
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
        # A bool is an int to Python, never to people; NaN is not between anything.
        if not isinstance(value, int | float) or isinstance(value, bool):
            raise self.refusal(name, "must be a number")
        if not least <= value <= most:
            raise self.refusal(name, f"must be between {least:g} and {most:g}")
        return float(value)

    def maybe_whole(self, name: str, default: int | None, *, least: int, most: int) -> int | None:
        """None stands for no limit, where the option has such a thing."""
        value = self._value(name)
        if value is None:
            return None if name in self._given else default
        if not isinstance(value, int) or isinstance(value, bool):
            raise self.refusal(name, "must be a whole number")
        if not least <= value <= most:
            raise self.refusal(name, f"must be between {least} and {most}")
        return value

    def refuse_others(self) -> None:
        """A mistyped option would otherwise do nothing, silently."""
        for name in self._given:
            if name not in self._asked:
                known = ", ".join(sorted(self._asked)) or "none"
                raise self.refusal(str(name)[:100], f"is unknown; there are: {known}")

    def refusal(self, name: str, why: str) -> BadInput:
        return BadInput(f"The {self._what} option {name!r} {why}.", field=name)

    def _value(self, name: str) -> Any:
        self._asked.add(name)
        return self._given.get(name)
