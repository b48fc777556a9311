"""What is remembered of another tool's item: when it came, when it changed, which words it had.

An item without a mark is ours. One that is set aside is damaged or too old: it is not shown, and
not looked at again before it changes.
"""

from dataclasses import dataclass
from typing import Self

_ASIDE = "!"


@dataclass(frozen=True, slots=True)
class Mark:
    """`words` is the SHA-1 of its JSON."""

    words: str
    arrived_at: int
    changed_at: int

    def written(self) -> str:
        return f"{self.words}:{self.arrived_at}:{self.changed_at}"

    @classmethod
    def read(cls, written: bytes) -> Self | None:
        """None for one that is set aside."""
        if written.startswith(_ASIDE.encode()):
            return None
        words, arrived_at, changed_at = written.decode("ascii").split(":")
        return cls(words, int(arrived_at), int(changed_at))


def aside(words: str) -> str:
    return f"{_ASIDE}{words}"
