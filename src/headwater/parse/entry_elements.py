"""Read the elements of an entry in any format: one table leads from names to readers."""

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
    read_topic,
)
from headwater.parse.dates import parse_date
from headwater.parse.document import Content, Person, Source, Text
from headwater.parse.draft import (
    Captions,
    Context,
    Draft,
    DraftNotes,
    EntryDraft,
    EntryHandler,
    ignore,
    language_tag,
)
from headwater.parse.extensions import add_value, keep_extension, read_indexer_attribute
from headwater.parse.links import (
    add_enclosure,
    read_comments,
    read_enclosure,
    read_guid,
    read_id,
    read_license,
    read_link,
    web_address,
)
from headwater.parse.media import (
    file_of,
    media_file,
    read_alternate_enclosure,
    read_duration,
    read_entry_image,
    read_itunes_image,
    read_itunes_link,
    read_thumbnail,
    with_duration,
)
from headwater.parse.namespaces import RDF, plain_name, split_name
from headwater.parse.people import read_author, read_contributor
from headwater.parse.periods import read_valid
from headwater.parse.quirks import read_mikan_torrent
from headwater.parse.text import cut_body, read_text_construct, says_the_same, shorten_text, text_of


def read_title(draft: EntryDraft, element: etree._Element, context: Context) -> None:
    spare = context.spare
    if spare.title_rank > 1:
        value, kind = read_text_construct(element, "text", context)
        if value:
            if len(value) > context.limits.title_chars:
                value = title_within(value, context)
            draft.title = Text(value, kind)
            spare.title_rank = 1


def read_dc_title(draft: Draft, element: etree._Element, context: Context) -> None:
    """Use Dublin Core's title only when there is no title of the format's own."""
    stand_in_title(draft, element, context, 2)


def read_lesser_title(draft: Draft, element: etree._Element, context: Context) -> None:
    """Rank this title low: media:title is the title of a file."""
    stand_in_title(draft, element, context, 3)


def stand_in_title(draft: Draft, element: etree._Element, context: Context, rank: int) -> None:
    if context.spare.title_rank > rank:
        value, kind = read_text_construct(element, "text", context)
        if value:
            draft.title = Text(title_within(value, context), kind)
            context.spare.title_rank = rank


def title_within(value: str, context: Context) -> str:
    limit = context.limits.title_chars
    if len(value) <= limit:
        return value
    context.tally.note("title_cut", f"longer than {limit} characters, cut")
    return value[:limit]


def read_description(draft: EntryDraft, element: etree._Element, context: Context) -> None:
    """RSS's own description is the summary of an item with a body, even when one of a module stands
    before it."""
    spare, before = context.spare, context.spare.more_summaries
    _summary(draft, element, "html", context)
    if spare.more_summaries is not before and spare.description is None:
        if ":" in plain_name(spare.summary_tag) and ":" not in plain_name(element.tag):
            spare.description = spare.more_summaries[-1]


def read_summary(draft: EntryDraft, element: etree._Element, context: Context) -> None:
    _summary(draft, element, "text", context)


def _summary(draft: EntryDraft, element: etree._Element, default: str, context: Context) -> None:
    """Read a summary. A second one is kept aside: it becomes the body of an entry without one."""
    value, kind = read_text_construct(element, default, context)
    if not value:
        return
    if len(value) > context.short_enough:
        value = cut_body(value, kind, "summary_cut", context)
    if draft.summary is None:
        draft.summary, context.spare.summary_tag = Text(value, kind), element.tag
    elif len(context.spare.more_summaries) < context.limits.contents:
        context.spare.more_summaries += (Text(value, kind),)
    else:
        context.tally.note("contents_cut", f"more than {context.limits.contents} bodies, cut")


def read_caption(draft: EntryDraft, element: etree._Element, context: Context) -> None:
    """media:description describes a file, often for people who cannot see it. It is no body."""
    value, kind = read_text_construct(element, "text", context)
    if not value:
        return
    spare, limits = context.spare, context.limits
    if len(spare.captions) >= limits.enclosures:
        context.tally.note("extensions_cut", f"more than {limits.enclosures} captions, cut")
        return
    if len(value) > context.short_enough:
        value = cut_body(value, kind, "summary_cut", context)
    spare.captions += ((split_name(element.tag), Text(value, kind)),)


def read_content(draft: EntryDraft, element: etree._Element, context: Context) -> None:
    """Read Atom's content: it has a type and may be at another address (`src`). One element of Atom
    0.3 may hold several contents."""
    if len(element) and element.get("type") == "multipart/alternative":
        for child in element:
            if isinstance(child.tag, str) and plain_name(child.tag) == "content":
                read_content(draft, child, context)
        return
    src = element.get("src")
    if src is not None:
        src = web_address(src, element, context)
    _content(draft, element, "text", src, context)


def read_encoded(draft: EntryDraft, element: etree._Element, context: Context) -> None:
    _content(draft, element, "html", None, context)


def read_content_items(draft: EntryDraft, element: etree._Element, context: Context) -> None:
    """Read the content module's first syntax: a bag of items, each with a value."""
    for value in element.iter(RDF + "value"):
        _content(draft, value, "html", None, context)


def read_body(draft: EntryDraft, element: etree._Element, context: Context) -> None:
    _content(draft, element, "xhtml", None, context)


def read_plain_body(draft: EntryDraft, element: etree._Element, context: Context) -> None:
    """Read a body without a namespace: it holds tags, or escaped HTML."""
    _content(draft, element, "xhtml" if len(element) else "html", None, context)


def _content(
    draft: EntryDraft, element: etree._Element, default: str, src: str | None, context: Context
) -> None:
    value, kind = read_text_construct(element, default, context)
    if not value and src is None:
        return
    if len(draft.contents) >= context.limits.contents:
        context.tally.note("contents_cut", f"more than {context.limits.contents} bodies, cut")
        return
    if len(value) > context.short_enough:
        value = cut_body(value, kind, "content_cut", context)
    language = context.language_of(element) if context.has_lang else context.language
    draft.contents += (Content(value, kind, src, language),)


def read_published(draft: EntryDraft, element: etree._Element, context: Context) -> None:
    raw = text_of(element)
    if raw:
        draft.raw_dates["published"] = raw[: context.limits.date_chars]
        draft.published = parse_date(raw) or draft.published


def read_updated(draft: EntryDraft, element: etree._Element, context: Context) -> None:
    raw = text_of(element)
    if raw:
        draft.raw_dates["updated"] = raw[: context.limits.date_chars]
        draft.updated = parse_date(raw) or draft.updated


def read_issued(draft: EntryDraft, element: etree._Element, context: Context) -> None:
    """Dublin Core's day does not replace the exact time of the format's own element."""
    if draft.published is None:
        read_published(draft, element, context)


def read_dc_date(draft: EntryDraft, element: etree._Element, context: Context) -> None:
    if draft.updated is None:
        read_updated(draft, element, context)


def read_created(draft: EntryDraft, element: etree._Element, context: Context) -> None:
    raw = text_of(element)
    if raw:
        draft.raw_dates["created"] = raw[: context.limits.date_chars]
        draft.created = parse_date(raw) or draft.created


def read_expired(draft: EntryDraft, element: etree._Element, context: Context) -> None:
    raw = text_of(element)
    if raw:
        draft.raw_dates["expired"] = raw[: context.limits.date_chars]
        draft.expired = parse_date(raw) or draft.expired


def read_language(draft: EntryDraft, element: etree._Element, context: Context) -> None:
    draft.language = language_tag(text_of(element)) or draft.language


def read_rights(draft: EntryDraft, element: etree._Element, context: Context) -> None:
    value, _ = read_text_construct(element, "text", context)
    draft.rights = shorten_text(value, context.limits.text_chars, context) or draft.rights


def read_source(draft: EntryDraft, element: etree._Element, context: Context) -> None:
    """Read RSS's `<source url>title</source>`, or Atom's copy of the original feed."""
    url = element.get("url")
    if url is not None or not len(element):
        title = shorten_text(text_of(element), context.limits.title_chars, context) or None
        link = web_address(url, element, context) if url else None
        if title or link:
            draft.source = Source(title, link)
        return
    origin, spare, context.spare = EntryDraft(), context.spare, DraftNotes()
    for child in element:
        reader = _SOURCE.get(plain_name(child.tag)) if isinstance(child.tag, str) else None
        if reader is not None:
            reader(origin, child, context)
    context.spare = spare
    title = origin.title.value if origin.title else None
    if title or origin.link or origin.native_id:
        draft.source = Source(title, origin.link, origin.native_id)
    context.spare.source_authors = origin.authors


_SOURCE: dict[str, EntryHandler] = {
    "title": read_title,
    "link": read_link,
    "id": read_id,
    "author": read_author,
}


def read_media_content(draft: EntryDraft, element: etree._Element, context: Context) -> None:
    """Read a file with its own title. All other elements inside describe the entry."""
    href = file_of(element)
    title = None
    for child in element if len(element) else ():
        if isinstance(child.tag, str):
            name = plain_name(child.tag)
            if name == "media:title" and href:
                title = shorten_text(text_of(child), context.limits.title_chars, context) or None
                stand_in_title(draft, child, context, 4)
            elif name not in ("media:content", "media:group"):
                BY_NAME.get(name, keep_extension)(draft, child, context)
    if href:
        add_enclosure(draft, media_file(element, href, title, context), context)


def read_group(draft: EntryDraft, element: etree._Element, context: Context) -> None:
    """Read the children of a media:group as the entry's own."""
    for child in element:
        if isinstance(child.tag, str):
            name = plain_name(child.tag)
            if name != "media:group":
                BY_NAME.get(name, keep_extension)(draft, child, context)


BY_NAME: dict[str, EntryHandler] = {
    "title": read_title,
    "dc:title": read_dc_title,
    "media:title": read_lesser_title,
    "itunes:title": read_lesser_title,
    "link": read_link,
    "guid": read_guid,
    "id": read_id,
    "comments": read_comments,
    "description": read_description,
    "abstract": read_summary,
    "dcterms:abstract": read_summary,
    "summary": read_summary,
    "dc:description": read_description,
    "media:description": read_caption,
    "itunes:summary": read_summary,
    "googleplay:description": read_summary,
    "content": read_content,
    "content:encoded": read_encoded,
    "content:items": read_content_items,
    "encoded": read_encoded,
    "fullitem": read_encoded,
    "xhtml:body": read_body,
    "xhtml:div": read_body,
    "body": read_plain_body,
    "pubdate": read_published,
    "published": read_published,
    "issued": read_published,
    "dcterms:issued": read_issued,
    "updated": read_updated,
    "modified": read_updated,
    "lastbuilddate": read_updated,
    "date": read_dc_date,
    "dc:date": read_dc_date,
    "dcterms:modified": read_updated,
    "created": read_created,
    "dcterms:created": read_created,
    "expirationdate": read_expired,
    "dcterms:valid": read_valid,
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
    "taxo:topics": read_topic,
    "enclosure": read_enclosure,
    "media:content": read_media_content,
    "media:group": read_group,
    "media:thumbnail": read_thumbnail,
    "itunes:image": read_itunes_image,
    "itunes:link": read_itunes_link,
    "itunes:duration": read_duration,
    "image": read_entry_image,
    "podcast:alternateenclosure": read_alternate_enclosure,
    "source": read_source,
    "language": read_language,
    "dc:language": read_language,
    "rights": read_rights,
    "copyright": read_rights,
    "dc:rights": read_rights,
    "cc:license": read_license,
    "creativecommons:license": read_license,
    "torznab:attr": read_indexer_attribute,
    "newznab:attr": read_indexer_attribute,
    "mikan:torrent": read_mikan_torrent,
    "torrent": keep_extension,
    "item": ignore,
    "entry": ignore,
}
"""Readers by plain name. All other elements go to `extensions`."""
BY_NAME |= {f"dcterms:{name[3:]}": read for name, read in BY_NAME.items() if name[:3] == "dc:"}


def complete_entry(draft: EntryDraft, fallback: tuple[Person, ...], context: Context) -> None:
    """Complete an entry after all its elements were read. `fallback` are the feed's authors."""
    spare = context.spare
    if spare.categories:
        draft.categories = tuple(spare.categories.values())
    if not draft.authors:
        draft.authors = spare.source_authors or fallback
    if spare.captions:
        _place_captions(draft, spare.captions, context)
    if spare.more_summaries and not draft.contents:
        more = [text for text in spare.more_summaries if not says_the_same(text, draft.summary)]
        draft.contents = tuple(Content(text.value, text.type, None, None) for text in more)
    elif spare.description is not None:
        draft.summary = spare.description
    if spare.duration is not None and draft.enclosures:
        draft.enclosures = with_duration(draft.enclosures, spare.duration)


def _place_captions(draft: EntryDraft, captions: Captions, context: Context) -> None:
    """The first caption is the summary of an entry without any text. The others are kept too."""
    if draft.summary is None and not draft.contents:
        draft.summary = captions[0][1]
        captions = captions[1:]
    for (uri, name), caption in captions:
        add_value(draft, uri, name, caption.value, context)
