"""Safe text: texts, addresses and moments in a form that published documents may hold."""

import re
from collections.abc import Iterable
from datetime import UTC, datetime
from email.utils import format_datetime
from urllib.parse import quote

from headwater.core.values.url import resolve

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_EMAIL = re.compile(r"[^@\s]+@[^@\s]+")
_MEDIA_TYPE = re.compile(r"[\w!#$&^.+-]{1,127}/[\w!#$&^.+-]{1,127}", re.ASCII)
_WEB = ("http://", "https://")
# Browsers accept these characters. RFC 3986 does not, and neither do strict feed readers.
_NOT_IN_URI = re.compile(r"[^A-Za-z0-9._~:/?#\[\]@!$&'()*+,;=%-]|%(?![0-9A-Fa-f]{2})")
_AUTHORITY = re.compile(r"[a-z]+://[^/?#]*")
_MOST = 2**53 - 1
"""The largest number that every reader of JSON reads exactly."""

OCTETS = "application/octet-stream"
MAGNET = "magnet:"


def xml_safe_text(text: str) -> str:
    """Drop characters that XML cannot hold: controls, lone surrogates, U+FFFE and U+FFFF."""
    return _NOT_XML.sub("", text)


def web_url(text: str | None, *also: str) -> str | None:
    """An absolute http or https URL as one parser spells it; None for anything else.

    `also` are further schemes that are accepted, such as `magnet:`. Characters that a URI may not
    hold (RFC 3986) are percent-encoded, so that strict readers can follow the link too.
    """
    url = resolve(None, text) if text else None
    return _strict(url) if url and url.startswith((*_WEB, *also)) else None


def name_or_none(text: str | None) -> str | None:
    """The name of a person or thing; None when it is blank."""
    name = xml_safe_text(text or "")
    return name if name.strip() else None


def readable_names(texts: Iterable[str]) -> list[str]:
    """The names that are not blank, each once."""
    return list(dict.fromkeys(name for text in texts if (name := name_or_none(text))))


def amount_or_none(number: int | None) -> int | None:
    """A number of bytes or seconds; None when it cannot be one."""
    return number if number is not None and 0 <= number <= _MOST else None


def email_or_none(text: str | None) -> str | None:
    address = xml_safe_text(text or "")
    return address if _EMAIL.fullmatch(address) else None


def media_type_or_none(text: str | None) -> str | None:
    """The type without its parameters; None when it is none."""
    plain = (text or "").partition(";")[0].strip().lower()
    return plain if _MEDIA_TYPE.fullmatch(plain) else None


def rfc822(moment: datetime) -> str:
    return format_datetime(moment.astimezone(UTC), usegmt=True)


def _strict(url: str) -> str:
    """Allow brackets only around the address of a host, and `#` only before the fragment."""
    encoded = _NOT_IN_URI.sub(lambda match: quote(match[0], safe=""), url)
    host = _AUTHORITY.match(encoded)
    before = host[0] if host else ""
    rest, mark, fragment = encoded.removeprefix(before).partition("#")
    after = f"{rest}{mark}{fragment.replace('#', '%23')}"
    return before + after.replace("[", "%5B").replace("]", "%5D")
