"""A feed's own elements, whatever the format: one table from name to reader."""

from lxml import etree

from headwater.parse.dates import parsed_date
from headwater.parse.document import Feed
from headwater.parse.draft import Context, FeedDraft, FeedHandler, language_tag
from headwater.parse.entry import read_dc_title, read_lesser_title, stand_in_title
from headwater.parse.hints import (
    read_cloud,
    read_skip_days,
    read_skip_hours,
    read_ttl,
    read_update_base,
    read_update_frequency,
    read_update_period,
)
from headwater.parse.links import read_feed_id, read_id, read_license, read_link, resource_of
from headwater.parse.making import text
from headwater.parse.media import (
    read_feed_image,
    read_feed_itunes_link,
    read_feed_thumbnail,
    read_icon,
    read_logo,
)
from headwater.parse.people import read_author, read_contributor
from headwater.parse.terms import (
    read_categories,
    read_category,
    read_itunes_category,
    read_itunes_keywords,
    read_keywords,
    read_media_category,
    read_subject,
    read_tags,
)
from headwater.parse.text import construct, shortened, within, words


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
        value, kind = construct(element, default, context)
        if value:
            if len(value) > context.short_enough:
                value = within(value, kind, "subtitle_cut", context)
            draft.summary = text(value, kind)


def read_published(draft: FeedDraft, element: etree._Element, context: Context) -> None:
    draft.published = parsed_date(words(element)) or draft.published


def read_updated(draft: FeedDraft, element: etree._Element, context: Context) -> None:
    draft.updated = parsed_date(words(element)) or draft.updated


def read_language(draft: FeedDraft, element: etree._Element, context: Context) -> None:
    draft.language = language_tag(words(element)) or draft.language


def read_generator(draft: FeedDraft, element: etree._Element, context: Context) -> None:
    value = words(element) or element.get("name") or ""
    draft.generator = shortened(value, context.limits.title_chars, context) or draft.generator


def read_generator_agent(draft: FeedDraft, element: etree._Element, context: Context) -> None:
    """Only an address: a name says more."""
    if draft.generator is None:
        value = resource_of(element) or words(element)
        draft.generator = shortened(value, context.limits.title_chars, context) or None


def read_rights(draft: FeedDraft, element: etree._Element, context: Context) -> None:
    value, _ = construct(element, "text", context)
    draft.rights = shortened(value, context.limits.text_chars, context) or draft.rights


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


def finished(draft: FeedDraft) -> Feed:
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
