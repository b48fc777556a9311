"""Read Media RSS and podcast elements: files, thumbnails, durations."""

from lxml import etree

from headwater.parse.document import Enclosure
from headwater.parse.draft import Context, EntryDraft, FeedDraft
from headwater.parse.extensions import keep_extension
from headwater.parse.links import add_enclosure, byte_count, file_address, media_type, web_address
from headwater.parse.namespaces import add_usual_attributes, plain_name
from headwater.parse.text import text_of

_LONGEST_SECONDS = 10**8


def seconds(text: str | None) -> int | None:
    """The seconds of `3723`, `62:03` and `1:02:03`. Spellings like `PT1H2M3S` are not read."""
    if not text or len(text) > 32:
        return None
    total = 0
    pieces = text.strip().split(":")
    if len(pieces) > 4:
        return None
    for piece in pieces:
        whole = piece.strip().partition(".")[0]
        if not whole.isdecimal() or not whole.isascii():
            return None
        total = total * 60 + int(whole)
    return total if total < _LONGEST_SECONDS else None


def file_of(element: etree._Element) -> str | None:
    """The address of a file. Media RSS has `url`, iTunes has `href`, and publishers use either."""
    address: str | None = element.get("url") or element.get("href")
    if address is None and element.keys() and add_usual_attributes(element):
        address = element.get("url") or element.get("href")
    return address


def media_file(
    element: etree._Element, href: str, title: str | None, context: Context
) -> Enclosure | None:
    url = file_address(href, element, context)
    if url is None:
        return None
    medium = element.get("medium")
    return Enclosure(
        url,
        media_type(element.get("type")),
        byte_count(element.get("fileSize") or element.get("filesize")),
        seconds(element.get("duration")),
        title,
        medium.strip().lower()[:32] if medium else None,
    )


def read_thumbnail(draft: EntryDraft, element: etree._Element, context: Context) -> None:
    href = file_of(element) or text_of(element)
    if not href:
        return
    address = web_address(href, element, context)
    if address is None or address in draft.thumbnails:
        return
    if len(draft.thumbnails) >= context.limits.thumbnails:
        context.tally.note("thumbnails_cut", f"more than {context.limits.thumbnails}, cut")
        return
    draft.thumbnails = (*draft.thumbnails, address)


def read_itunes_image(draft: EntryDraft, element: etree._Element, context: Context) -> None:
    read_thumbnail(draft, element, context)


def read_itunes_link(draft: EntryDraft, element: etree._Element, context: Context) -> None:
    """Read itunes:link, the first name of itunes:image."""
    if element.get("rel") == "image":
        read_thumbnail(draft, element, context)
    else:
        keep_extension(draft, element, context)


def read_entry_image(draft: EntryDraft, element: etree._Element, context: Context) -> None:
    """Read an item's `image`, a URL or with a `url` inside. No specification has it."""
    for child in element:
        if isinstance(child.tag, str) and plain_name(child.tag) in ("url", "href"):
            read_thumbnail(draft, child, context)
            return
    if text_of(element).startswith("http") or element.get("href") or element.get("url"):
        read_thumbnail(draft, element, context)


def read_duration(draft: EntryDraft, element: etree._Element, context: Context) -> None:
    context.spare.duration = seconds(text_of(element))
    keep_extension(draft, element, context)


def with_duration(files: tuple[Enclosure, ...], duration: int) -> tuple[Enclosure, ...]:
    """Give the duration to the first file that can be played."""
    for at, file in enumerate(files):
        if file.medium != "image" and not (file.type or "").startswith("image/"):
            if file.duration is not None:
                break
            timed = Enclosure(file.url, file.type, file.length, duration, file.title, file.medium)
            return (*files[:at], timed, *files[at + 1 :])
    return files


def read_alternate_enclosure(draft: EntryDraft, element: etree._Element, context: Context) -> None:
    """Read podcast:alternateEnclosure: the same episode in another encoding."""
    title = element.get("title")
    for child in element:
        uri = child.get("uri")
        if uri and isinstance(child.tag, str) and plain_name(child.tag) == "podcast:source":
            url = file_address(uri, child, context)
            if url is not None:
                kind = media_type(child.get("contentType")) or media_type(element.get("type"))
                size = byte_count(element.get("length"))
                add_enclosure(draft, Enclosure(url, kind, size, title=title), context)


def read_feed_image(draft: FeedDraft, element: etree._Element, context: Context) -> None:
    """Read RSS's image with a `url` inside, or iTunes's with an `href`."""
    href, holder = file_of(element), element
    for child in element:
        if not href and isinstance(child.tag, str) and plain_name(child.tag) in ("url", "href"):
            href, holder = text_of(child), child
    if not href and not len(element):
        href = text_of(element)
    if href and draft.image is None:
        draft.image = web_address(href, holder, context)


def read_feed_itunes_link(draft: FeedDraft, element: etree._Element, context: Context) -> None:
    if element.get("rel") == "image":
        read_feed_image(draft, element, context)


def read_feed_thumbnail(draft: FeedDraft, element: etree._Element, context: Context) -> None:
    """Read a thumbnail, which stands in for an image or logo that the feed lacks."""
    href = file_of(element) or text_of(element)
    if href and draft.thumbnail is None:
        draft.thumbnail = web_address(href, element, context)


def read_logo(draft: FeedDraft, element: etree._Element, context: Context) -> None:
    href = text_of(element)
    if href:
        draft.logo = web_address(href, element, context)


def read_icon(draft: FeedDraft, element: etree._Element, context: Context) -> None:
    href = text_of(element)
    if href:
        draft.icon = web_address(href, element, context)
