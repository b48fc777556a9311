"""Make relative links inside HTML absolute, and change nothing else."""

import re
from collections.abc import Sequence
from functools import lru_cache
from html import escape
from typing import NamedTuple

from headwater.core.values.html_entities import unescaped_attribute
from headwater.core.values.url import resolve

# A search for a pattern that begins with "=" is fast, and the name before it is checked
# afterwards: one search for all names takes a quarter of the time of one search for each. The
# last three letters are checked first, because nearly all other attributes fail there.
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
"""Attributes that hold addresses."""
_GIVEN = re.compile(r"""\s*(?:"([^"<>]*)"|'([^'<>]*)'|([^\s"'<>]+))""")
_OPEN_TAG = re.compile(r"""<[A-Za-z](?:[^<>"']++|"[^"]*+"|'[^']*+')*+""")
_SCHEME = re.compile(r"\s*[A-Za-z][A-Za-z0-9+.-]*:")
_PLAIN_FRAGMENT = re.compile(r"#[A-Za-z0-9_.:~-]*")
# Origins and paths that no URL parser would change: joined, they are the address.
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
    """The patterns worth a search: all spellings in a small document, the usual in a large one."""
    if len(document) < _SMALL:
        return ALL_ATTRIBUTES
    return USUAL_ATTRIBUTES if _IN_DOCUMENT.search(document) is not None else ()


def with_absolute_links(value: str, base: str | None, attributes: AttributePatterns) -> str:
    """Resolve the relative addresses in these attributes of HTML against `base`."""
    if base is None or "<" not in value or "=" not in value:
        return value
    positions = [match.start() for pattern in attributes for match in pattern.finditer(value)]
    if not positions:
        return value
    bases = _url_bases_of(base)
    pieces: list[str] = []
    done = 0
    for at in positions:
        letter = _last_letter(value, at) if at > done and _is_in_tag(value, at) else ""
        quoted = _GIVEN.match(value, at + 1) if letter else None
        if quoted is None:
            continue
        if letter in "tT":  # srcset
            address = _resolved_set(quoted, base)
        elif letter in "fF" and not quoted[quoted.lastindex or 1]:
            address = f'"{bases.page}"'
        else:
            address = _resolved(quoted, base, bases)
        if address is not None:
            pieces += (value[done : at + 1], address)
            done = quoted.end()
    return "".join((*pieces, value[done:]))


class _UrlBases(NamedTuple):
    """The bases of a fragment, of a plain path, and of one without a slash at its beginning.

    `page` is escaped for HTML. `origin` and `folder` are None where a URL parser is needed.
    """

    page: str
    origin: str | None
    folder: str | None

    def put_before(self, path: str) -> str | None:
        """The address of a plain path; None for a query or fragment alone, or without a base."""
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
    """The absolute URL of a reference. Plain paths need no URL parser."""
    if base is not None and reference[:4] != "http" and _PLAIN_PATH.fullmatch(reference):
        address = _url_bases_of(base).put_before(reference)
        if address is not None:
            return address
    return resolve(base, reference)


def absolute_value(name: str, base: str | None, value: str) -> str | None:
    """An attribute's value with absolute addresses; None when it need not change."""
    if name.lower() == "srcset":
        resolved = _CANDIDATE.sub(lambda candidate: _resolve_candidate(candidate, base), value)
        return None if resolved == value else resolved
    value = value.strip()
    if not value and name.lower() == "href":
        return base  # an empty reference leads to its base
    return resolve_url(base, value) if is_relative(value) else None


def _resolve_candidate(candidate: re.Match[str], base: str | None) -> str:
    url = resolve_url(base, candidate[1]) if is_relative(candidate[1]) else None
    return candidate[0] if url is None else url + candidate[2]


def is_relative(address: str) -> bool:
    return bool(address.strip()) and _SCHEME.match(address) is None


def _resolved(match: re.Match[str], base: str, bases: _UrlBases) -> str | None:
    """The attribute's new value with quotes, or None when it need not change."""
    value = match[match.lastindex or 1]
    if value[:1] == "#" and _PLAIN_FRAGMENT.fullmatch(value):
        return f'"{bases.page}{value}"'
    if bases.origin is not None and _PLAIN_PATH.fullmatch(value):
        address = bases.put_before(value)
        if address is not None:
            return f'"{address}"'
    if not is_relative(value):
        return None
    address = resolve(base, unescaped_attribute(value).strip())
    return None if address is None else f'"{escape(address)}"'


def _resolved_set(match: re.Match[str], base: str) -> str | None:
    value = absolute_value("srcset", base, unescaped_attribute(match[match.lastindex or 1]))
    return None if value is None else f'"{escape(value)}"'


def _last_letter(value: str, at: int) -> str:
    """The last letter of the name before an equals sign; empty when that holds no address."""
    letter = value[at - 1]
    if not letter.isspace():
        return letter  # the pattern has checked the rest
    before = value[max(0, at - _LONGEST_NAME) : at].rstrip()
    return before[-1:] if _NAME_AT_END.search(before) is not None else ""


def _is_in_tag(value: str, at: int) -> bool:
    """Whether the nearest angle bracket before opens a tag, or is quoted in one of the nearest."""
    begin = max(0, at - _LONGEST_TAG)
    opened = value.rfind("<", begin, at)
    if opened > value.rfind(">", begin, at) and value[opened + 1].isalpha():
        return True  # an "a < b" would open no tag
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
