"""Rules of feeds as checks: each has a name that is a promise, and names who breaks it.

A format's rules stand in `rules_rss`, `rules_atom` and `rules_json`; here is what they share.
"""

import re
from collections.abc import Callable, Iterator
from datetime import datetime
from email.utils import parsedate_to_datetime
from typing import Generic, TypeVar

from headwater.publish.clean_html import clean_html

T = TypeVar("T")
Check = Callable[[T], Iterator[str]]

_NEVER_IN_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_ESCAPED = r"%[0-9A-Fa-f]{2}"
_PCHAR = rf"(?:[A-Za-z0-9._~!$&'()*+,;=:@-]|{_ESCAPED})"
# RFC 3986, appendix A, without what only old files have.
_URI = re.compile(
    r"[A-Za-z][A-Za-z0-9+.-]*:"
    rf"(?://(?:(?:[A-Za-z0-9._~!$&'()*+,;=:-]|{_ESCAPED})*@)?"
    rf"(?:\[[0-9A-Fa-f:.]+\]|(?:[A-Za-z0-9._~!$&'()*+,;=-]|{_ESCAPED})*)(?::\d*)?(?=[/?#]|$))?"
    rf"(?:{_PCHAR}|/)*(?:\?(?:{_PCHAR}|[/?])*)?(?:#(?:{_PCHAR}|[/?])*)?"
)
_RFC3339 = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)")
_RFC822 = re.compile(
    r"(?:(Mon|Tue|Wed|Thu|Fri|Sat|Sun), )?\d{1,2}"
    r" (?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) \d{4} \d\d:\d\d(?::\d\d)?"
    r" (?:UT|GMT|[ECMP][SD]T|[A-IK-Z]|[+-]\d{4})"
)
_MEDIA_TYPE = re.compile(r"[A-Za-z0-9!#$&^_.+-]+/[A-Za-z0-9!#$&^_.+-]+", re.ASCII)
_EMAIL = re.compile(r"[^@\s]+@[^@\s]+")


class Rules(Generic[T]):
    """Checks by name, in the order they were written."""

    def __init__(self) -> None:
        self.checks: dict[str, Check[T]] = {}

    def rule(self, check: Check[T]) -> Check[T]:
        self.checks[check.__name__] = check
        return check

    def broken(self, document: T) -> list[str]:
        """Every rule that does not hold, and by whom; nothing for a document that keeps all."""
        return [
            f"{name}: {offender}"
            for name, check in self.checks.items()
            for offender in check(document)
        ]


def is_uri(text: str | None) -> bool:
    """A whole URI (RFC 3986): what is relative or has foreign characters in it is none."""
    return text is not None and _URI.fullmatch(text) is not None


def is_web_address(text: str | None) -> bool:
    return text is not None and is_uri(text) and text.startswith(("http://", "https://"))


def is_rfc3339(text: str | None) -> bool:
    """Also a real day: the 30th of February is none."""
    if text is None or not _RFC3339.fullmatch(text):
        return False
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return False
    return True


def is_rfc822(text: str | None) -> bool:
    """With four digits of the year, and the day of the week that it was."""
    found = _RFC822.fullmatch(text or "")
    if found is None or text is None:
        return False
    try:
        moment = parsedate_to_datetime(text)
    except ValueError:
        return False
    return found[1] is None or found[1] == moment.strftime("%a")


def is_media_type(text: str | None) -> bool:
    return text is not None and _MEDIA_TYPE.fullmatch(text) is not None


def is_email(text: str | None) -> bool:
    return text is not None and _EMAIL.fullmatch(text) is not None


def is_whole_number(text: str | None) -> bool:
    return text is not None and text.isascii() and text.isdigit()


def is_clean_html(text: str) -> bool:
    """Nothing that an allow-list would take out, and no address that needs a base."""
    return clean_html(text) == text


def is_sound(text: str) -> bool:
    """Nothing that XML cannot carry."""
    return _NEVER_IN_XML.search(text) is None


def repeated(values: list[str]) -> list[str]:
    return sorted({value for value in values if values.count(value) > 1})
