"""HTML's character references (`&amp;`, `&#38;`) as browsers read them, however long they are."""

import re
from html import unescape
from html.entities import html5

_MOST_DIGITS = 8
# Python refuses to read a number of thousands of digits; html.unescape passes that on.
_LONG = re.compile(r"&#([0-9]{9,});?")
_IN_ATTRIBUTE = re.compile(r"&(?:#[0-9]++;?|#[xX][0-9A-Fa-f]++;?|([A-Za-z][A-Za-z0-9]*+(;|(?!=))))")


def unescaped(text: str) -> str:
    """What a text with references says. Never raises."""
    if "&" not in text:
        return text
    return unescape(_LONG.sub(_short, text) if "&#" in text else text)


def unescaped_attribute(value: str) -> str:
    """The same for an attribute, where `&copy=1` and `&section=2` are no © and no § but the next
    field of a query: a name without its semicolon counts only where its word ends."""
    return _IN_ATTRIBUTE.sub(_meant, value) if "&" in value else value


def _meant(found: re.Match[str]) -> str:
    named: str | None = found[1]
    return found[0] if named is not None and named not in html5 else unescaped(found[0])


def _short(found: re.Match[str]) -> str:
    digits = found[1].lstrip("0")
    return f"&#{digits or '0'};" if len(digits) <= _MOST_DIGITS else "\ufffd"
