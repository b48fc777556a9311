"""Patterns that users write: regular expressions of RE2, whose time is bounded."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import re2  # type: ignore[import-untyped]  # ships no types

from headwater.anime.title.clean import clean_title
from headwater.core.errors import BadInput

LONGEST_PATTERN = 512
LONGEST_TITLE = 1_024
MOST_PATTERNS = 64
MOST_MEMORY = 1 << 18
"""Bytes of a compiled pattern: with the two lengths above, about 15 ms at the very worst."""


class BadPattern(BadInput):
    """Facts: `pattern`, and `where` (the list it stands in)."""

    code = "bad_pattern"


@dataclass(frozen=True, slots=True)
class Pattern:
    """A compiled pattern. It ignores case and the width of letters."""

    text: str
    compiled: Any

    def found_in(self, title: str) -> str | None:
        """The piece of the title that the pattern matches; None when it matches nowhere.

        The title is searched as written and then cleaned: the user may have either in mind.
        """
        for text in _written_and_cleaned(title[:LONGEST_TITLE]):
            match = self.compiled.search(text.encode("utf-8", "replace"))
            if match is not None:
                piece: bytes = match.group()
                return piece.decode("utf-8", "replace")
        return None


def _written_and_cleaned(title: str) -> Iterable[str]:
    yield title
    cleaned = clean_title(title)
    if cleaned != title:
        yield cleaned


def compile_patterns(texts: Iterable[str], where: str) -> tuple[Pattern, ...]:
    """BadPattern names the first pattern that cannot be used; `where` is the list it stands in."""
    patterns = tuple(texts)
    if len(patterns) > MOST_PATTERNS:
        raise BadPattern(f"{where} has more than {MOST_PATTERNS} patterns.", where=where)
    return tuple(compile_pattern(text, where) for text in patterns)


def compile_pattern(text: str, where: str) -> Pattern:
    if not text.strip():
        raise BadPattern(f"{where} has an empty pattern: it would match everything.", where=where)
    if len(text) > LONGEST_PATTERN:
        raise BadPattern(
            f"A pattern of {where} is longer than {LONGEST_PATTERN} characters.",
            where=where,
            pattern=text[:100],
        )
    try:
        return Pattern(text, re2.compile(text.encode(), _options()))
    except UnicodeEncodeError as trouble:
        shown = text.encode("ascii", "backslashreplace").decode()
        raise BadPattern("A pattern is not text.", where=where, pattern=shown) from trouble
    except re2.error as trouble:
        cause = trouble.args[0] if trouble.args else ""
        if isinstance(cause, bytes):
            cause = cause.decode("utf-8", "replace")
        raise BadPattern(
            f"The pattern {text!r} of {where} cannot be used: {cause}.", where=where, pattern=text
        ) from trouble


def _options() -> Any:
    options = re2.Options()
    options.max_mem = MOST_MEMORY
    options.case_sensitive = False
    options.never_capture = True
    options.log_errors = False
    return options
