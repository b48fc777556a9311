"""A publisher's hints on when to come back."""

from lxml import etree

from headwater.parse.attributes import has_more_attributes_now
from headwater.parse.dates import parsed_date
from headwater.parse.document import Cloud
from headwater.parse.draft import Context, FeedDraft
from headwater.parse.text import words

_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_LONGEST_TTL = 10**7
_LONGEST_WORD = 32


def _number(text: str) -> int | None:
    """A bounded whole number; what is none says nothing."""
    text = text.strip().partition(".")[0]
    if not text.isascii() or not text.isdecimal() or len(text) > 12:
        return None
    return int(text)


def read_ttl(draft: FeedDraft, element: etree._Element, context: Context) -> None:
    minutes = _number(words(element))
    if minutes is not None and minutes > 0:
        draft.ttl_minutes = min(minutes, _LONGEST_TTL)


def read_skip_hours(draft: FeedDraft, element: etree._Element, context: Context) -> None:
    """0–23; 24 is midnight in some older feeds."""
    hours: set[int] = set()
    for child in element:
        hour = _number(words(child))
        if hour is not None and 0 <= hour <= 24:
            hours.add(hour % 24)
        else:
            context.tally.note("skip_hours", f"not an hour: {words(child)[:20]!r}")
    draft.skip_hours = tuple(sorted(hours))


def read_skip_days(draft: FeedDraft, element: etree._Element, context: Context) -> None:
    days = {words(child)[:3].title() for child in element}
    draft.skip_days = tuple(day for day in _DAYS if day in days)


def read_update_period(draft: FeedDraft, element: etree._Element, context: Context) -> None:
    """As it stands there: left out, a word that we do not know would count as the usual day."""
    draft.update_period = words(element).lower()[:_LONGEST_WORD] or None


def read_update_frequency(draft: FeedDraft, element: etree._Element, context: Context) -> None:
    frequency = _number(words(element))
    if frequency is not None and frequency > 0:
        draft.update_frequency = min(frequency, _LONGEST_TTL)


def read_update_base(draft: FeedDraft, element: etree._Element, context: Context) -> None:
    draft.update_base = parsed_date(words(element))


def read_cloud(draft: FeedDraft, element: etree._Element, context: Context) -> None:
    has_more_attributes_now(element)
    domain = element.get("domain")
    procedure = element.get("registerProcedure") or element.get("registerprocedure") or ""
    if domain:
        draft.cloud = Cloud(
            domain[:255],
            _number(element.get("port") or ""),
            (element.get("path") or "")[:1024] or None,
            procedure[:255] or None,
            (element.get("protocol") or "").lower()[:32] or None,
        )
