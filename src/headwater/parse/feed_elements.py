"""Read the elements of a feed in any format: one table leads from names to readers."""

from lxml import etree

from headwater.parse.categories import (
    read_categories,
    read_category,
    read_itunes_category,
    read_itunes_keywords,
    read_keywords,
    read_media_category,
    read_subject,
    read_tags,
)
from headwater.parse.dates import parse_date
from headwater.parse.document import Cloud, Feed, Text
from headwater.parse.draft import Context, FeedDraft, FeedHandler, language_tag
from headwater.parse.entry_elements import read_dc_title, read_lesser_title, stand_in_title
from headwater.parse.links import read_feed_id, read_id, read_license, read_link, resource_of
from headwater.parse.media import (
    read_feed_image,
    read_feed_itunes_link,
    read_feed_thumbnail,
    read_icon,
    read_logo,
)
from headwater.parse.namespaces import add_usual_attributes
from headwater.parse.people import read_author, read_contributor
from headwater.parse.text import cut_body, read_text_construct, shorten_text, text_of

_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_LONGEST_TTL = 10**7
_LONGEST_WORD = 32


def _number(text: str) -> int | None:
    """A bounded whole number, or None for any other text."""
    text = text.strip().partition(".")[0]
    if not text.isascii() or not text.isdecimal() or len(text) > 12:
        return None
    return int(text)


def read_ttl(draft: FeedDraft, element: etree._Element, context: Context) -> None:
    minutes = _number(text_of(element))
    if minutes is not None and minutes > 0:
        draft.ttl_minutes = min(minutes, _LONGEST_TTL)


def read_skip_hours(draft: FeedDraft, element: etree._Element, context: Context) -> None:
    """Read the hours 0–23. In some older feeds 24 is midnight."""
    hours: set[int] = set()
    for child in element:
        hour = _number(text_of(child))
        if hour is not None and 0 <= hour <= 24:
            hours.add(hour % 24)
        else:
            context.tally.note("skip_hours", f"not an hour: {text_of(child)[:20]!r}")
    draft.skip_hours = tuple(sorted(hours))


def read_skip_days(draft: FeedDraft, element: etree._Element, context: Context) -> None:
    days = {text_of(child)[:3].title() for child in element}
    draft.skip_days = tuple(day for day in _DAYS if day in days)


def read_update_period(draft: FeedDraft, element: etree._Element, context: Context) -> None:
    """Keep the period as it is written, also an unknown word. Without it the feed would count as
    one with the usual period of a day."""
    draft.update_period = text_of(element).lower()[:_LONGEST_WORD] or None


def read_update_frequency(draft: FeedDraft, element: etree._Element, context: Context) -> None:
    frequency = _number(text_of(element))
    if frequency is not None and frequency > 0:
        draft.update_frequency = min(frequency, _LONGEST_TTL)


def read_update_base(draft: FeedDraft, element: etree._Element, context: Context) -> None:
    draft.update_base = parse_date(text_of(element))


def read_cloud(draft: FeedDraft, element: etree._Element, context: Context) -> None:
    add_usual_attributes(element)
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


def read_title(draft: FeedDraft, element: etree._Element, context: Context) -> None:
    stand_in_title(draft, element, context, 1)


def read_description(draft: FeedDraft, element: etree._Element, context: Context) -> None:
    _subtitle(draft, element, "html", context, True)


def read_subtitle(draft: FeedDraft, element: etree._Element, context: Context) -> None:
    _subtitle(draft, element, "text", context, True)


def read_lesser_subtitle(draft: FeedDraft, element: etree._Element, context: Context) -> None:
    _subtitle(draft, element, "text", context, False)


def read_lesser_description(draft: FeedDraft, element: etree._Element, context: Context) -> None:
    _subtitle(draft, element, "html", context, False)


def _subtitle(
    draft: FeedDraft, element: etree._Element, default: str, context: Context, wins: bool
) -> None:
    if draft.summary is None or wins:
        value, kind = read_text_construct(element, default, context)
        if value:
            if len(value) > context.short_enough:
                value = cut_body(value, kind, "subtitle_cut", context)
            draft.summary = Text(value, kind)


def read_published(draft: FeedDraft, element: etree._Element, context: Context) -> None:
    draft.published = parse_date(text_of(element)) or draft.published


def read_updated(draft: FeedDraft, element: etree._Element, context: Context) -> None:
    draft.updated = parse_date(text_of(element)) or draft.updated


def read_language(draft: FeedDraft, element: etree._Element, context: Context) -> None:
    draft.language = language_tag(text_of(element)) or draft.language


def read_generator(draft: FeedDraft, element: etree._Element, context: Context) -> None:
    value = text_of(element) or element.get("name") or ""
    draft.generator = shorten_text(value, context.limits.title_chars, context) or draft.generator


def read_generator_agent(draft: FeedDraft, element: etree._Element, context: Context) -> None:
    """Read the generator's address, when there is no name, which says more."""
    if draft.generator is None:
        value = resource_of(element) or text_of(element)
        draft.generator = shorten_text(value, context.limits.title_chars, context) or None


def read_rights(draft: FeedDraft, element: etree._Element, context: Context) -> None:
    value, _ = read_text_construct(element, "text", context)
    draft.rights = shorten_text(value, context.limits.text_chars, context) or draft.rights


BY_NAME: dict[str, FeedHandler] = {
    "title": read_title,
    "dc:title": read_dc_title,
    "media:title": read_lesser_title,
    "itunes:title": read_lesser_title,
    "description": read_description,
    "dc:description": read_description,
    "subtitle": read_subtitle,
    "tagline": read_subtitle,
    "abstract": read_lesser_subtitle,
    "summary": read_lesser_subtitle,
    "media:description": read_lesser_description,
    "itunes:subtitle": read_lesser_subtitle,
    "itunes:summary": read_lesser_subtitle,
    "googleplay:description": read_lesser_subtitle,
    "link": read_link,
    "id": read_id,
    "guid": read_feed_id,
    "pubdate": read_published,
    "published": read_published,
    "issued": read_published,
    "dcterms:issued": read_published,
    "updated": read_updated,
    "modified": read_updated,
    "lastbuilddate": read_updated,
    "date": read_updated,
    "dc:date": read_updated,
    "dcterms:modified": read_updated,
    "language": read_language,
    "dc:language": read_language,
    "generator": read_generator,
    "admin:generatoragent": read_generator_agent,
    "rights": read_rights,
    "copyright": read_rights,
    "dc:rights": read_rights,
    "author": read_author,
    "managingeditor": read_author,
    "dc:creator": read_author,
    "dc:author": read_author,
    "itunes:author": read_author,
    "itunes:owner": read_author,
    "googleplay:author": read_author,
    "contributor": read_contributor,
    "dc:contributor": read_contributor,
    "category": read_category,
    "dc:subject": read_subject,
    "keywords": read_category,
    "categories": read_categories,
    "tags": read_tags,
    "media:category": read_media_category,
    "media:keywords": read_keywords,
    "itunes:category": read_itunes_category,
    "itunes:keywords": read_itunes_keywords,
    "image": read_feed_image,
    "itunes:image": read_feed_image,
    "itunes:link": read_feed_itunes_link,
    "media:thumbnail": read_feed_thumbnail,
    "googleplay:image": read_feed_image,
    "logo": read_logo,
    "icon": read_icon,
    "ttl": read_ttl,
    "skiphours": read_skip_hours,
    "skipdays": read_skip_days,
    "sy:updateperiod": read_update_period,
    "sy:updatefrequency": read_update_frequency,
    "sy:updatebase": read_update_base,
    "cloud": read_cloud,
    "cc:license": read_license,
    "creativecommons:license": read_license,
}
"""Readers by plain name. Unknown feed-level elements are not kept."""
BY_NAME |= {f"dcterms:{name[3:]}": read for name, read in BY_NAME.items() if name[:3] == "dc:"}


def finish_feed(draft: FeedDraft) -> Feed:
    links = draft.links
    first = {link.rel: link.href for link in reversed(links)}
    return Feed(
        draft.title,
        draft.summary,
        draft.link,
        links,
        draft.native_id,
        draft.language,
        draft.generator,
        draft.rights,
        draft.published,
        draft.updated,
        draft.authors,
        draft.contributors,
        draft.categories,
        draft.logo or draft.image or draft.thumbnail,
        draft.icon,
        draft.ttl_minutes,
        draft.skip_hours,
        draft.skip_days,
        draft.update_period,
        draft.update_frequency,
        draft.update_base,
        draft.cloud,
        first.get("hub"),
        first.get("self"),
        first.get("next"),
        first.get("prev-archive"),
    )
