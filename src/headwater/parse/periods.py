"""Read Dublin Core's periods of time: `start=2004-01-01; end=2004-02-01`."""

from lxml import etree

from headwater.parse.dates import parse_date
from headwater.parse.draft import Context, EntryDraft
from headwater.parse.extensions import keep_extension
from headwater.parse.text import text_of


def read_valid(draft: EntryDraft, element: etree._Element, context: Context) -> None:
    """An entry expires at the end of its period, unless it has RSS's own expiration date."""
    keep_extension(draft, element, context)
    if draft.expired is not None:
        return
    for part in text_of(element).split(";"):
        name, _, raw = part.partition("=")
        if name.strip().lower() == "end" and raw.strip():
            draft.raw_dates["expired"] = raw.strip()[: context.limits.date_chars]
            draft.expired = parse_date(raw)
