"""Relative addresses inside HTML made absolute, without touching anything else."""

import re
from collections.abc import Sequence
from html import escape, unescape

from headwater.values.url import resolve

# The patterns begin with plain letters, so that the regex engine skips to them at memory speed,
# and reject what is already absolute at once. Everything else is looked at afterwards.
_COMMON = ("href", "src", "HREF", "SRC")
_RARE = (
    "poster", "cite", "action", "background", "longdesc", "usemap", "codebase", "data",
    "classid", "profile",
)  # fmt: skip
_IN_DOCUMENT = {
    name: re.compile(name.encode() + rb"=(?![\"']https?:|&quot;https?:|&#34;https?:)")
    for name in ("href", "src", "HREF")
}
_IN_VALUE = {name: re.compile(name + r"""\s*=(?!["']?https?:)""") for name in (*_COMMON, *_RARE)}
_GIVEN = re.compile(r"""\s*(?:"([^"<>]*)"|'([^'<>]*)'|([^\s"'<>]+))""")
_SCHEME = re.compile(r"\s*[A-Za-z][A-Za-z0-9+.-]*:")
_PLAIN_FRAGMENT = re.compile(r"#[A-Za-z0-9_.:~-]*")
_LONGEST_TAG = 8_192
_SMALL = 8_192

Attributes = Sequence[re.Pattern[str]]
"""Patterns of the attributes that may hold relative addresses."""

ALL_ATTRIBUTES: Attributes = tuple(_IN_VALUE.values())
_USUAL = {name: re.compile(name + r"""=(?!["']https?:)""") for name in _COMMON}


def relative_attributes(document: bytes) -> Attributes:
    """The attributes worth looking at: all in a small document, the usual ones in a large."""
    if len(document) < _SMALL:
        return ALL_ATTRIBUTES
    found = [name for name, pattern in _IN_DOCUMENT.items() if pattern.search(document)]
    if "HREF" in found:
        found.append("SRC")  # capitals go together
    return [_USUAL[name] for name in found]


def with_absolute_links(value: str, base: str | None, attributes: Attributes) -> str:
    """The same HTML with the relative addresses in these attributes resolved against `base`."""
    if base is None or "<" not in value:
        return value
    found = [match for pattern in attributes for match in pattern.finditer(value)]
    if not found:
        return value
    found.sort(key=re.Match.start)
    pieces: list[str] = []
    at = 0
    for name in found:
        given = _GIVEN.match(value, name.end()) if _is_attribute(value, name.start()) else None
        address = _resolved(given, base) if given is not None else None
        if given is not None and address is not None and name.start() >= at:
            pieces += (value[at : name.end()], address)
            at = given.end()
    return "".join((*pieces, value[at:]))


def _resolved(match: re.Match[str], base: str) -> str | None:
    """The attribute's new value with quotes, or None when it is to stay as it is."""
    given = match[match.lastindex or 1]
    if not given.strip() or _SCHEME.match(given):
        return None
    if given[0] == "#" and _PLAIN_FRAGMENT.fullmatch(given):
        return f'"{escape(base.partition("#")[0])}{given}"'
    found = resolve(base, unescape(given).strip())
    return None if found is None else f'"{escape(found)}"'


def _is_attribute(value: str, at: int) -> bool:
    """It follows white space, inside a tag that is still open."""
    if at and not value[at - 1].isspace():
        return False
    begin = max(0, at - _LONGEST_TAG)
    return value.rfind("<", begin, at) > value.rfind(">", begin, at)
