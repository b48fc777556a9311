"""Relative addresses inside HTML made absolute, without touching anything else."""

import re
from collections.abc import Sequence
from functools import lru_cache
from html import escape
from typing import NamedTuple

from headwater.core.values.html_entities import unescaped_attribute
from headwater.core.values.url import resolve

# A pattern that begins with "=" is looked for quickly, and what stands before it is asked
# afterwards: one search for all names takes a quarter of the time of one search for each. The
# last three letters are asked first, because nearly all other attributes fail there.
_LETTERS = r"(?<=[aeimrstuRS][aenorstRE][acdefnprtFC]=)"
_NAMES = (
    "href", "src", "srcset", "poster", "cite", "action", "background", "longdesc", "usemap",
    "codebase", "data", "classid", "profile", "formaction",
)  # fmt: skip
_USUAL_NAMES = (
    "href", "src", "srcset", "poster", "cite", "data", "HREF", "SRC", "Href", "Src",
    "action", "background", "longdesc", "usemap", "formaction",
)  # fmt: skip
_ONE_OF_THEM = "|".join(f"(?<={name}=)" for name in _USUAL_NAMES)
_IN_DOCUMENT = re.compile(
    f"={_LETTERS}(?![\"']https?:|&quot;https?:|&#34;https?:)(?:{_ONE_OF_THEM})".encode()
)
_USUAL = re.compile(
    f"={_LETTERS}(?![\"']https?:)(?:" + _ONE_OF_THEM.replace("(?<=", r"(?<=\s") + ")"
)
# In any case, and with white space before the equals sign.
_ANY = re.compile(
    r"""=(?<=[acdefnprtACDEFNPRT\s]=)(?!["']?https?:)(?:(?<=\s=)|(?i:"""
    + "|".join(rf"(?<=\s{name}=)" for name in _NAMES)
    + "))"
)
_NAME_AT_END = re.compile(rf"\s(?i:{'|'.join(_NAMES)})\Z")
_LONGEST_NAME = 64
ADDRESS_ATTRIBUTES = frozenset(
    spelled for name in _NAMES for spelled in (name, name.upper(), name.title())
)
"""The attributes that hold addresses."""
_GIVEN = re.compile(r"""\s*(?:"([^"<>]*)"|'([^'<>]*)'|([^\s"'<>]+))""")
_OPEN_TAG = re.compile(r"""<[A-Za-z](?:[^<>"']++|"[^"]*+"|'[^']*+')*+""")
_SCHEME = re.compile(r"\s*[A-Za-z][A-Za-z0-9+.-]*:")
_PLAIN_FRAGMENT = re.compile(r"#[A-Za-z0-9_.:~-]*")
# Places and paths that no URL parser would change: put together, they are the address.
_PLAIN_ORIGIN = re.compile(r"https?://(?!\S*xn--)(?:[a-z0-9-]++\.)++[a-z]{2,}+(?=/)")
_PLAIN_FOLDER = re.compile(r"(?:/(?!\.)[A-Za-z0-9_~=,.-]*+)*/")
_PLAIN_PATH = re.compile(
    r"(?!//)(?:[A-Za-z0-9_~=,-][A-Za-z0-9_~=,.-]*+)?+(?:/(?!\.)[A-Za-z0-9_~=,.-]*+)*+"
    r"(?:\?[A-Za-z0-9_~=,./-]*+)?+(?:#[A-Za-z0-9_~=,./:-]*+)?+"
)
_LONGEST_TAG = 8_192
_QUOTED_BRACKETS = 3
_LOOKED_AT = 32
_SMALL = 8_192

# An address and its descriptor in a srcset; addresses may hold commas, but not at their ends.
_CANDIDATE = re.compile(r"([^\s,](?:\S*[^\s,])?)(?=[\s,]|\Z)([^,]*)")

AttributePatterns = Sequence[re.Pattern[str]]
"""Patterns of the equals sign of an attribute that may hold a relative address."""

ALL_ATTRIBUTES: AttributePatterns = (_ANY,)
USUAL_ATTRIBUTES: AttributePatterns = (_USUAL,)


def relative_attributes(document: bytes) -> AttributePatterns:
    """What is worth looking for: every spelling in a small document, the usual in a large."""
    if len(document) < _SMALL:
        return ALL_ATTRIBUTES
    return USUAL_ATTRIBUTES if _IN_DOCUMENT.search(document) is not None else ()


def with_absolute_links(value: str, base: str | None, attributes: AttributePatterns) -> str:
    """The same HTML with the relative addresses in these attributes resolved against `base`."""
    if base is None or "<" not in value or "=" not in value:
        return value
    found = [match.start() for pattern in attributes for match in pattern.finditer(value)]
    if not found:
        return value
    places = _url_bases_of(base)
    pieces: list[str] = []
    done = 0
    for at in found:
        letter = _last_letter(value, at) if at > done and _is_in_tag(value, at) else ""
        given = _GIVEN.match(value, at + 1) if letter else None
        if given is None:
            continue
        if letter in "tT":  # srcset
            address = _resolved_set(given, base)
        elif letter in "fF" and not given[given.lastindex or 1]:
            address = f'"{places.page}"'
        else:
            address = _resolved(given, base, places)
        if address is not None:
            pieces += (value[done : at + 1], address)
            done = given.end()
    return "".join((*pieces, value[done:]))


class _UrlBases(NamedTuple):
    """What a fragment, a plain path and one that begins with no slash are put behind.

    The page as HTML has it; no origin or folder where a URL parser has to look.
    """

    page: str
    origin: str | None
    folder: str | None

    def put_before(self, path: str) -> str | None:
        """The address of a plain path; None for a query or a fragment alone, or without a place."""
        first = path[:1]
        if first == "/":
            return None if self.origin is None else self.origin + path
        return None if self.folder is None or first in "?#" else self.folder + path


@lru_cache(maxsize=64)
def _url_bases_of(base: str) -> _UrlBases:
    page = base.partition("#")[0]
    origin = _PLAIN_ORIGIN.match(base)
    if origin is None:
        return _UrlBases(escape(page), None, None)
    path = page.partition("?")[0][origin.end() :]
    folder = path[: path.rindex("/") + 1]
    is_plain = _PLAIN_FOLDER.fullmatch(folder) is not None
    return _UrlBases(escape(page), origin[0], origin[0] + folder if is_plain else None)


def resolve_url(base: str | None, reference: str) -> str | None:
    """The absolute URL that a reference means; plain paths need no URL parser."""
    if base is not None and reference[:4] != "http" and _PLAIN_PATH.fullmatch(reference):
        found = _url_bases_of(base).put_before(reference)
        if found is not None:
            return found
    return resolve(base, reference)


def absolute_value(name: str, base: str | None, given: str) -> str | None:
    """An attribute's value with absolute addresses; None when it is to stay as it is."""
    if name.lower() == "srcset":
        found = _CANDIDATE.sub(lambda one: _candidate(one, base), given)
        return None if found == given else found
    given = given.strip()
    if not given and name.lower() == "href":
        return base  # an empty reference means its base
    return resolve_url(base, given) if is_relative(given) else None


def _candidate(one: re.Match[str], base: str | None) -> str:
    found = resolve_url(base, one[1]) if is_relative(one[1]) else None
    return one[0] if found is None else found + one[2]


def is_relative(address: str) -> bool:
    return bool(address.strip()) and _SCHEME.match(address) is None


def _resolved(match: re.Match[str], base: str, places: _UrlBases) -> str | None:
    """The attribute's new value with quotes, or None when it is to stay as it is."""
    given = match[match.lastindex or 1]
    if given[:1] == "#" and _PLAIN_FRAGMENT.fullmatch(given):
        return f'"{places.page}{given}"'
    if places.origin is not None and _PLAIN_PATH.fullmatch(given):
        found = places.put_before(given)
        if found is not None:
            return f'"{found}"'
    if not is_relative(given):
        return None
    found = resolve(base, unescaped_attribute(given).strip())
    return None if found is None else f'"{escape(found)}"'


def _resolved_set(match: re.Match[str], base: str) -> str | None:
    found = absolute_value("srcset", base, unescaped_attribute(match[match.lastindex or 1]))
    return None if found is None else f'"{escape(found)}"'


def _last_letter(value: str, at: int) -> str:
    """Of the name before an equals sign; nothing when that holds no address."""
    letter = value[at - 1]
    if not letter.isspace():
        return letter  # the pattern has seen to the rest
    before = value[max(0, at - _LONGEST_NAME) : at].rstrip()
    return before[-1:] if _NAME_AT_END.search(before) is not None else ""


def _is_in_tag(value: str, at: int) -> bool:
    """The nearest angle bracket before it opens a tag, or is quoted in one of the nearest."""
    begin = max(0, at - _LONGEST_TAG)
    opened = value.rfind("<", begin, at)
    if opened > value.rfind(">", begin, at) and value[opened + 1].isalpha():
        return True  # and no "a < b", which begins nothing
    tried = 0
    for _ in range(_LOOKED_AT):
        if opened < 0 or tried == _QUOTED_BRACKETS:
            return False
        if value[opened + 1].isalpha():  # of "<<<" in a title none is worth a try
            tried += 1
            if _OPEN_TAG.fullmatch(value, opened, at) is not None:
                return True
        opened = value.rfind("<", begin, opened)
    return False
