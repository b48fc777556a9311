"""Relative addresses inside HTML made absolute, without touching anything else."""

import re
from collections.abc import Sequence
from functools import lru_cache
from html import escape, unescape

from headwater.values.url import resolve

# A pattern that begins with "=" is looked for quickly, and what stands before it is asked
# afterwards: one search for all names takes a quarter of the time of one search for each.
_IN_DOCUMENT = re.compile(
    rb"=(?<=[fcFC]=)(?![\"']https?:|&quot;https?:|&#34;https?:)"
    rb"(?:(?<=[hH]ref=)|(?<=[sS]rc=)|(?<=HREF=)|(?<=SRC=))"
)
_USUAL = re.compile(
    r"""=(?<=[fcFC]=)(?!["']https?:)"""
    r"(?:(?<=\s[hH]ref=)|(?<=\s[sS]rc=)|(?<=\sHREF=)|(?<=\sSRC=))"
)
_NAMES = (
    "href", "src", "HREF", "SRC", "Href", "Src", "poster", "cite", "action", "background",
    "longdesc", "usemap", "codebase", "data", "classid", "profile",
)  # fmt: skip
ADDRESSES = frozenset(_NAMES)
"""The attributes that hold addresses."""
# All of them in one search: a name or white space before the equals sign.
_ANY = re.compile(
    r"""=(?<=[acdefnprCF\s]=)(?!["']?https?:)(?:(?<=\s=)|"""
    + "|".join(rf"(?<=\s{name}=)" for name in _NAMES)
    + ")"
)
_GIVEN = re.compile(r"""\s*(?:"([^"<>]*)"|'([^'<>]*)'|([^\s"'<>]+))""")
_OPEN_TAG = re.compile(r"""<[A-Za-z](?:[^<>"']++|"[^"<]*+"|'[^'<]*+')*+""")
_SCHEME = re.compile(r"\s*[A-Za-z][A-Za-z0-9+.-]*:")
_PLAIN_FRAGMENT = re.compile(r"#[A-Za-z0-9_.:~-]*")
# An origin and a path that no URL parser would change: put together, they are the address.
_PLAIN_ORIGIN = re.compile(r"https?://(?!\S*xn--)(?:[a-z0-9-]++\.)++[a-z]{2,}+(?=/)")
_PLAIN_PATH = re.compile(r"(?!//)(?:/(?!\.)[A-Za-z0-9_~=,.-]*+)++")
_LONGEST_TAG = 8_192
_SMALL = 8_192

Attributes = Sequence[re.Pattern[str]]
"""Patterns of the attributes that may hold relative addresses, up to the equals sign."""

ALL_ATTRIBUTES: Attributes = tuple(
    re.compile(rf"""{name}(?<=\s{name})\s*=(?!["']?https?:)""") for name in _NAMES
)
USUAL_ATTRIBUTES: Attributes = (_USUAL,)


def relative_attributes(document: bytes) -> Attributes:
    """The attributes worth looking at: all in a small document, the usual ones in a large."""
    if len(document) < _SMALL:
        return ALL_ATTRIBUTES
    return USUAL_ATTRIBUTES if _IN_DOCUMENT.search(document) is not None else ()


def with_absolute_links(value: str, base: str | None, attributes: Attributes) -> str:
    """The same HTML with the relative addresses in these attributes resolved against `base`."""
    if base is None or "<" not in value or "=" not in value:
        return value
    if attributes is ALL_ATTRIBUTES and _ANY.search(value) is None:
        return value
    found = [match for pattern in attributes for match in pattern.finditer(value)]
    if not found:
        return value
    if len(found) > 1:
        found.sort(key=re.Match.start)
    page, origin = _page_and_origin(base)
    pieces: list[str] = []
    at = 0
    for name in found:
        given = _GIVEN.match(value, name.end()) if _is_in_tag(value, name.start()) else None
        if given is None or name.start() < at:
            continue
        address = _resolved(given, base, page, origin)
        if address is not None:
            pieces += (value[at : name.end()], address)
            at = given.end()
    return "".join((*pieces, value[at:]))


@lru_cache(maxsize=64)
def _page_and_origin(base: str) -> tuple[str, str | None]:
    """What a plain fragment and a plain path are put behind."""
    origin = _PLAIN_ORIGIN.match(base)
    return escape(base.partition("#")[0]), origin[0] if origin else None


def joined(base: str | None, reference: str) -> str | None:
    """The absolute URL that a reference means; rooted plain paths need no URL parser."""
    if base is not None and reference[:1] == "/" and _PLAIN_PATH.fullmatch(reference):
        origin = _page_and_origin(base)[1]
        if origin is not None:
            return origin + reference
    return resolve(base, reference)


def is_relative(address: str) -> bool:
    return bool(address.strip()) and _SCHEME.match(address) is None


def _resolved(match: re.Match[str], base: str, page: str, origin: str | None) -> str | None:
    """The attribute's new value with quotes, or None when it is to stay as it is."""
    given = match[match.lastindex or 1]
    if given[:1] == "#" and _PLAIN_FRAGMENT.fullmatch(given):
        return f'"{page}{given}"'
    if origin is not None and _PLAIN_PATH.fullmatch(given):
        return f'"{origin}{given}"'
    if not is_relative(given):
        return None
    found = resolve(base, unescape(given).strip())
    return None if found is None else f'"{escape(found)}"'


def _is_in_tag(value: str, at: int) -> bool:
    """The nearest angle bracket before it opens a tag, or is quoted in one."""
    begin = max(0, at - _LONGEST_TAG)
    opened = value.rfind("<", begin, at)
    return opened > value.rfind(">", begin, at) or (
        opened >= 0 and _OPEN_TAG.fullmatch(value, opened, at) is not None
    )
