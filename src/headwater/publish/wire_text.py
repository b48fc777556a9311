"""Text, addresses and moments as they may stand in a document that goes out."""

import re
from datetime import UTC, datetime
from email.utils import format_datetime

from headwater.values.url import resolve

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_EMAIL = re.compile(r"[^@\s]+@[^@\s]+")
_MEDIA_TYPE = re.compile(r"[\w!#$&^.+-]{1,127}/[\w!#$&^.+-]{1,127}", re.ASCII)
_WEB = ("http://", "https://")

OCTETS = "application/octet-stream"


def sound(text: str) -> str:
    """Without what XML cannot carry: controls, lone surrogates, U+FFFE and U+FFFF."""
    return _NOT_XML.sub("", text)


def web_url(text: str | None, *also: str) -> str | None:
    """An absolute http or https URL as one parser spells it; None for anything else.

    `also` are further schemes that may stand there, such as `magnet:`.
    """
    url = resolve(None, text) if text else None
    return url if url and url.startswith((*_WEB, *also)) else None


def email(text: str | None) -> str | None:
    return text if text and _EMAIL.fullmatch(text) else None


def media_type(text: str | None) -> str | None:
    """The type without its parameters; None when it is none."""
    plain = (text or "").partition(";")[0].strip().lower()
    return plain if _MEDIA_TYPE.fullmatch(plain) else None


def rfc822(moment: datetime) -> str:
    return format_datetime(moment.astimezone(UTC), usegmt=True)
