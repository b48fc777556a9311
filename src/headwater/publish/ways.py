"""The order of entries, walked towards the older or towards the newer ones."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

from headwater.ports import Value

T = TypeVar("T")

Place = tuple[int, int, int, bytes]
"""Where an entry stands: first_seen, sort_at, feed and uid key.

Newest first by the first two; then by the other two, which only keep the order the same each time.
"""


@dataclass(frozen=True, slots=True)
class Way:
    """`sign` leads on, `reverse` back; `outermost` is where a walk begins that begins nowhere."""

    sign: Literal["<", ">"]
    reverse: Literal["<", ">"]
    direction: Literal["ASC", "DESC"]
    against: Literal["ASC", "DESC"]
    best: Literal["max", "min"]
    outermost: int

    @property
    def order(self) -> str:
        return (
            f"ORDER BY e.first_seen {self.direction}, e.sort_at {self.direction},"
            f" e.feed_id {self.against}, e.uid_key {self.against}"
        )

    def beyond(self, place: Place) -> tuple[str, list[Value]]:
        """What comes after this place. The first condition is for the index."""
        within, values = self.within_moment(place)
        condition = f"e.first_seen {self.sign}= ? AND (e.first_seen {self.sign} ? OR ({within}))"
        return condition, [place[0], place[0], *values]

    def within_moment(self, place: Place) -> tuple[str, list[Value]]:
        first_seen, sort_at, feed, uid_key = place
        on, back = self.sign, self.reverse
        condition = (
            f"e.first_seen = ? AND (e.sort_at {on} ? OR (e.sort_at = ? AND"
            f" (e.feed_id {back} ? OR (e.feed_id = ? AND e.uid_key {back} ?))))"
        )
        return condition, [first_seen, sort_at, sort_at, feed, feed, uid_key]

    def sorted(self, moments: Iterable[int]) -> list[int]:
        return sorted(moments, reverse=self.direction == "DESC")

    def reaches(self, moment: int, bound: int) -> bool:
        return moment >= bound if self.sign == "<" else moment <= bound

    def in_order(self, rows: Sequence[T], place_of: Callable[[T], Place]) -> list[T]:
        """As the database would have ordered them together."""

        def key(row: T) -> tuple[Any, ...]:
            first_seen, sort_at, feed, uid_key = place_of(row)
            return -first_seen, -sort_at, feed, uid_key

        return sorted(rows, key=key, reverse=self is NEWER)


OLDER = Way("<", ">", "DESC", "ASC", "max", 2**63 - 1)
NEWER = Way(">", "<", "ASC", "DESC", "min", -(2**63) + 1)
