"""Decode HTML entities (`&amp;`, `&#38;`) as browsers do, however long they are."""

import re
from html import unescape
from html.entities import html5

_MOST_DIGITS = 8
# Python refuses to read a number of thousands of digits; html.unescape passes that on.
_LONG = re.compile(r"&#([0-9]{9,});?")
_IN_ATTRIBUTE = re.compile(r"&(?:#[0-9]++;?|#[xX][0-9A-Fa-f]++;?|([A-Za-z][A-Za-z0-9]*+(;|(?!=))))")


def unescaped(text: str) -> str:
    """Decode the entities of a text. It never raises."""
    if "&" not in text:
        return text
    return unescape(_LONG.sub(_without_leading_zeros, text) if "&#" in text else text)


def unescaped_attribute(value: str) -> str:
    """Decode the entities of an attribute. There `&copy=1` and `&section=2` are no © and no § but
    the next field of a query: a name without its semicolon counts only where its word ends."""
    return _IN_ATTRIBUTE.sub(_unescaped_in_attribute, value) if "&" in value else value


def _unescaped_in_attribute(entity: re.Match[str]) -> str:
    name: str | None = entity[1]
    return entity[0] if name is not None and name not in html5 else unescaped(entity[0])


def _without_leading_zeros(number: re.Match[str]) -> str:
    digits = number[1].lstrip("0")
    return f"&#{digits or '0'};" if len(digits) <= _MOST_DIGITS else "\ufffd"
