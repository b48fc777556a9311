"""Make foreign text safe for the terminal: no escape sequences, no hidden direction changes."""

import re

_UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f"  # controls with ESC, but without tab and line feed
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # marks that reorder what is shown
    "\u2028\u2029\ufeff\ud800-\udfff]"
)
_SPACES = re.compile(r"\s+")


def make_printable(text: str) -> str:
    """Replace unsafe characters; line breaks are kept."""
    return _UNSAFE.sub("\N{REPLACEMENT CHARACTER}", text)


def one_line(text: str, most: int = 500) -> str:
    """Make a text printable on one line, and cut it."""
    flat = make_printable(_SPACES.sub(" ", text)).strip()
    return flat if len(flat) <= most else flat[: most - 1] + "…"
