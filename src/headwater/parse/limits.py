"""The limits of the parser, and the tally of repairs and cuts."""

from dataclasses import dataclass

from headwater.parse.document import Problem


@dataclass(frozen=True, slots=True)
class ParseLimits:
    """All bounds of the parser. It cuts what is beyond a bound and notes the cut in `problems`.

    `reread` is how many times its size a repaired document may be read again to check its
    fragments. Fragments beyond that are left out.
    """

    depth: int = 100
    attributes: int = 256
    items: int = 5_000
    title_chars: int = 1_024
    guid_bytes: int = 4_096
    link_bytes: int = 4_096
    content_bytes: int = 1_048_576
    text_chars: int = 4_096
    categories: int = 64
    enclosures: int = 32
    links: int = 64
    people: int = 64
    contents: int = 16
    thumbnails: int = 32
    extension_values: int = 256
    json_depth: int = 32
    date_chars: int = 128
    reread: int = 4


class ProblemTally:
    """A tally of repairs and cuts by code, so that ten thousand of one kind are one problem."""

    __slots__ = ("_counts", "_details")

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}
        self._details: dict[str, str] = {}

    def copy(self) -> "ProblemTally":
        other = ProblemTally()
        other._counts, other._details = self._counts.copy(), self._details.copy()
        return other

    def note(self, code: str, detail: str, count: int = 1) -> None:
        self._counts[code] = self._counts.get(code, 0) + count
        self._details.setdefault(code, detail)

    def problems(self) -> tuple[Problem, ...]:
        return tuple(
            Problem(
                code, detail if self._counts[code] == 1 else f"{detail} ({self._counts[code]}×)"
            )
            for code, detail in self._details.items()
        )


def cut_bytes(text: str, limit: int) -> str:
    """The longest beginning of a text that fits into so many UTF-8 bytes."""
    if len(text) * 4 <= limit:
        return text
    if len(text) <= limit:
        if text.isascii() or len(text.encode("utf-8", "replace")) <= limit:
            return text
    return text[:limit].encode("utf-8", "replace")[:limit].decode("utf-8", "ignore")
