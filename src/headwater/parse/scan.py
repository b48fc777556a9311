"""Questions about a whole document, answered at the speed of memory.

Python's own patterns look at each byte in turn. RE2 jumps to the next byte that a pattern can begin
with, so each of these begins with one that is rare in feeds. Asking RE2 has a price of its own:
small documents are left to Python.
"""

import re

import re2  # type: ignore[import-untyped]  # ships no types

_SMALL = 2_048
_MOST_MEMORY = 1 << 18
_SAMPLE = b"<a href='b'>c &#8217; &#1;&#x7;![xml:\xc2\xa0\xc3\xa9</a>" * 64


class Scan:
    """Whether and where a pattern of bytes occurs."""

    __slots__ = ("_in_large", "_in_small")

    def __init__(self, pattern: bytes) -> None:
        options = re2.Options()
        options.encoding = re2.Options.Encoding.LATIN1
        options.log_errors = False
        options.max_mem = _MOST_MEMORY
        self._in_large = re2.compile(pattern, options).search
        self._in_small = re.compile(pattern).search
        # What RE2 makes for a pattern is made now, not in the time of a document.
        self._in_large(_SAMPLE)

    def finds(self, document: bytes) -> bool:
        search = self._in_small if len(document) < _SMALL else self._in_large
        return search(document) is not None

    def first(self, document: bytes) -> int:
        """Where it occurs first, or -1."""
        search = self._in_small if len(document) < _SMALL else self._in_large
        found = search(document)
        return -1 if found is None else int(found.start())
