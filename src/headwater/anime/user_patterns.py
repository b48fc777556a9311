"""Regular expressions that people write, in a language whose time is bounded: RE2."""

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
"""Bytes a compiled pattern may have: with the two lengths above, about 15 ms at the very worst."""


class BadPattern(BadInput):
    """Facts: `pattern`, and `where` it stands."""

    code = "bad_pattern"


@dataclass(frozen=True, slots=True)
class Pattern:
    """A pattern that compiled. Neither case nor the width of letters counts."""

    text: str
    compiled: Any

    def found_in(self, title: str) -> str | None:
        """The piece of the title that it matches; None when it matches nowhere."""
        for text in _spellings(title):
            match = self.compiled.search(text.encode("utf-8", "replace"))
            if match is not None:
                piece: bytes = match.group()
                return piece.decode("utf-8", "replace")
        return None


def _spellings(title: str) -> Iterable[str]:
    """The title as it was written, and as it is compared: somebody may have either in mind."""
    given = title[:LONGEST_TITLE]
    yield given
    tidied = clean_title(given)
    if tidied != given:
        yield tidied


def compile_patterns(texts: Iterable[str], where: str) -> tuple[Pattern, ...]:
    """BadPattern names the first that will not do; `where` is the list it stands in."""
    given = tuple(texts)
    if len(given) > MOST_PATTERNS:
        raise BadPattern(f"{where} has more than {MOST_PATTERNS} patterns.", where=where)
    return tuple(compile_pattern(text, where) for text in given)


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
        said = _explain_error(trouble)
        raise BadPattern(
            f"The pattern {text!r} of {where} cannot be used: {said}.", where=where, pattern=text
        ) from trouble


def _options() -> Any:
    options = re2.Options()
    options.max_mem = MOST_MEMORY
    options.case_sensitive = False
    options.never_capture = True
    options.log_errors = False
    return options


def _explain_error(trouble: Exception) -> str:
    said = trouble.args[0] if trouble.args else ""
    return said.decode("utf-8", "replace") if isinstance(said, bytes) else str(said)
