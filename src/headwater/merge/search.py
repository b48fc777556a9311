"""A question to the entries: what is asked, as SQL that finds enough and a check that is exact."""

from dataclasses import dataclass
from typing import Any

import orjson

from headwater.ports import Value

ESCAPE = "!"


@dataclass(frozen=True, slots=True)
class Search:
    """`since` is inclusive, `until` exclusive; both are microseconds of first_seen.

    Every word of `text` must be found, each in any field.
    """

    feed: int | None = None
    since: int | None = None
    until: int | None = None
    category: str | None = None
    text: str | None = None

    @property
    def words(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((self.text or "").split()))


def sql_of(
    search: Search, dialect: str, after: tuple[int, int, int, bytes] | None
) -> tuple[str, list[Value]]:
    """Conditions and their values; finds all that match, and perhaps a few that do not."""
    parts: list[tuple[str, list[Value]]] = []
    if search.feed is not None:
        parts.append(("e.feed_id = ?", [search.feed]))
    if search.since is not None:
        parts.append(("e.first_seen >= ?", [search.since]))
    if search.until is not None:
        parts.append(("e.first_seen < ?", [search.until]))
    if search.category is not None:
        position = "instr" if dialect == "sqlite" else "strpos"
        parts.append((f"{position}(e.categories, ?) > 0", [_element(search.category)]))
    like = "LIKE" if dialect == "sqlite" else "ILIKE"
    columns = [f"e.{name} {like} ? ESCAPE '{ESCAPE}'" for name in _TEXT]
    anywhere = f"({' OR '.join(columns)})"
    parts += [(anywhere, [_pattern(word)] * len(_TEXT)) for word in search.words]
    if after is not None:
        parts.append(_beyond(after))
    return " AND ".join(part for part, _ in parts) or "1 = 1", [v for _, vs in parts for v in vs]


_TEXT = ("title", "summary", "content")


def matches(search: Search, row: Any) -> bool:
    """The exact answer: databases differ in what they call the same letter."""
    if search.category is not None and search.category not in orjson.loads(row.categories):
        return False
    # Folded, not lowered: the small sigma of a whole word depends on what stands after it.
    odd = [word.casefold() for word in search.words if not word.isascii()]
    if not odd:
        return True
    texts = [(getattr(row, name) or "").casefold() for name in _TEXT]
    return all(any(word in text for text in texts) for word in odd)


def _beyond(place: tuple[int, int, int, bytes]) -> tuple[str, list[Value]]:
    first_seen, sort_at, feed, uid_key = place
    condition = (
        "e.first_seen <= ? AND (e.first_seen < ? OR e.sort_at < ?"
        " OR (e.sort_at = ? AND (e.feed_id > ? OR (e.feed_id = ? AND e.uid_key > ?))))"
    )
    return condition, [first_seen, first_seen, sort_at, sort_at, feed, feed, uid_key]


def _element(category: str) -> str:
    """As it stands inside the stored JSON list."""
    return orjson.dumps(category).decode()


def _pattern(text: str) -> str:
    """SQLite folds the case of ASCII only: other letters with a case may be anything here."""
    return f"%{''.join(_literal(letter) for letter in text)}%"


def _literal(letter: str) -> str:
    if letter in ("%", "_", ESCAPE):
        return ESCAPE + letter
    if letter.isascii() or letter.lower() == letter.upper():
        return letter
    return "%"
