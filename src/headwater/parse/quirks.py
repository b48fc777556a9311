"""Habits of single publishers, each with where it was seen and when it may go."""

from datetime import timedelta

from lxml import etree

from headwater.parse.dates import parsed_date
from headwater.parse.draft import Context, EntryDraft
from headwater.parse.extensions import keep_extension
from headwater.parse.names import plain_name
from headwater.parse.text import words

MIKAN_ZONE = timedelta(hours=8)

LANGUAGE_CHARSETS: dict[str, str] = {
    "ru": "windows-1251",
    "uk": "windows-1251",
    "bg": "windows-1251",
    "be": "windows-1251",
    "sr": "windows-1251",
    "zh": "gb18030",
    "zh-tw": "big5",
    "zh-hk": "big5",
    "ja": "shift_jis",
    "ko": "cp949",
    "el": "windows-1253",
    "tr": "windows-1254",
    "he": "windows-1255",
    "ar": "windows-1256",
    "fa": "windows-1256",
    "pl": "windows-1250",
    "cs": "windows-1250",
    "sk": "windows-1250",
    "hu": "windows-1250",
    "th": "windows-874",
    "vi": "windows-1258",
}
"""What undeclared bytes most likely are, by the language the feed names. Goes when all is UTF-8."""


def read_mikan_torrent(draft: EntryDraft, element: etree._Element, context: Context) -> None:
    """mikanani.me: the date stands in a torrent block and has no zone: it is China's.

    Goes when the site writes a zone or an RSS pubDate.
    """
    keep_extension(draft, element, context)
    for child in element:
        if isinstance(child.tag, str) and plain_name(child.tag) == "mikan:pubdate":
            raw = words(child)
            found = parsed_date(raw)
            if found is not None and draft.published is None:
                draft.raw_dates["published"] = raw[: context.limits.date_chars]
                draft.published = found if _has_zone(raw) else found - MIKAN_ZONE


def _has_zone(raw: str) -> bool:
    clock = raw.partition("T")[2]
    return clock[-1:] in "Zz" or "+" in clock or "-" in clock
