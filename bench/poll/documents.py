"""The feeds that are polled: realistic documents, the same ones for the same seed."""

import gzip
import random
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from hashlib import sha256
from html import escape
from itertools import accumulate

NEWEST = datetime(2025, 6, 1, 12, 0, tzinfo=UTC)
"""The last publication of any feed; long enough ago that no clock calls it the future."""

_SYLLABLES = (
    "ba ce di fo gu ha le mi no pra que ri sta te ul ver wo xa yo zen str con ment ing tion er an"
).split()


@dataclass(frozen=True, slots=True)
class Shape:
    """What the documents look like: how many items, and how many bytes each document has."""

    feeds: int = 1_000
    items: int = 30
    smallest: int = 24_000
    largest: int = 120_000
    seed: int = 1


NEWS_OF_EVERY, NEWS = 5, 3
"""Every fifth feed has news in the steady pass: three items, and its three oldest are gone."""


def has_news(number: int) -> bool:
    return number % NEWS_OF_EVERY == 0


@dataclass(frozen=True, slots=True)
class Served:
    """One feed as its server has it."""

    body: bytes
    coded: bytes
    content_type: str
    etag: str
    last_modified: str

    @property
    def sha256(self) -> str:
        """Of the bytes on the wire, which are the ones to be archived."""
        return sha256(self.coded).hexdigest()


def address_of(number: int) -> str:
    """Each feed lives on an address of its own, so that politeness to hosts is never in the way."""
    return f"127.1.{number // 250}.{number % 250 + 1}"


def url_of(number: int, port: int) -> str:
    return f"http://{address_of(number)}:{port}/feed.xml"


def urls(feeds: int, port: int) -> list[str]:
    return [url_of(number, port) for number in range(feeds)]


def served(shape: Shape) -> Iterator[tuple[Served, Served | None]]:
    """Every feed in turn, and what it becomes if it has news.

    About a third of them are Atom, the others RSS 2.0.
    """
    prose = Prose(random.Random(shape.seed))
    for number in range(shape.feeds):
        luck = random.Random(f"{shape.seed}:{number}")
        size = luck.randint(shape.smallest, shape.largest) // shape.items
        items = [_item(number, place, size, prose, luck) for place in range(shape.items)]
        later = None
        if has_news(number):
            news = [_item(number, place, size, prose, luck) for place in range(-NEWS, 0)]
            later = _served(number, [*news, *items[:-NEWS]])
        yield _served(number, items), later


def _served(number: int, items: list["Item"]) -> Served:
    is_atom = number % 3 == 2
    body = (_atom(number, items) if is_atom else _rss(number, items)).encode()
    return Served(
        body=body,
        coded=gzip.compress(body, compresslevel=6, mtime=0),
        content_type=f"application/{'atom' if is_atom else 'rss'}+xml; charset=utf-8",
        etag=f'"{sha256(body).hexdigest()[:20]}"',
        last_modified=_rfc822(items[0].published),
    )


@dataclass(frozen=True, slots=True)
class Item:
    title: str
    link: str
    guid: str
    author: str
    categories: tuple[str, ...]
    published: datetime
    summary: str
    content: str


class Prose:
    """Sentences of made-up words, common words common and rare ones rare, as in real text."""

    def __init__(self, luck: random.Random) -> None:
        words = ["".join(luck.choices(_SYLLABLES, k=luck.randint(1, 4))) for _ in range(6_000)]
        weights = list(accumulate(1 / rank for rank in range(1, len(words) + 1)))
        self.words = words
        self._sentences = [
            " ".join(luck.choices(words, cum_weights=weights, k=luck.randint(7, 22))).capitalize()
            for _ in range(5_000)
        ]

    def sentences(self, luck: random.Random, count: int) -> str:
        return ". ".join(luck.choices(self._sentences, k=count)) + "."

    def title(self, luck: random.Random) -> str:
        return " ".join(luck.choices(self.words, k=luck.randint(3, 9))).capitalize()

    def html(self, luck: random.Random, size: int, link: str) -> str:
        """Paragraphs with a link, some emphasis, a picture and a list, until `size` is reached."""
        picture = (
            f'<figure><img src="{link}/cover.jpg" alt="{self.title(luck)}" width="1024"/></figure>'
        )
        parts, length = [picture], len(picture)
        while length < size:
            first, rest = self.title(luck), self.sentences(luck, luck.randint(2, 5))
            shape = luck.random()
            if shape < 0.15:
                part = f"<ul><li>{first}</li><li>{self.title(luck)}</li></ul>"
            elif shape < 0.5:
                part = f'<p><a href="{link}#{length}">{first}</a> &amp; {rest}</p>'
            else:
                part = f"<p><em>{first}</em>: {rest}</p>"
            parts.append(part)
            length += len(part) + 1
        return "\n".join(parts)


def _item(feed: int, place: int, size: int, prose: Prose, luck: random.Random) -> Item:
    title = prose.title(luck)
    link = f"https://site-{feed}.example/{2025 - place // 12}/{place:03}-{title.split()[0].lower()}"
    summary = prose.sentences(luck, 2)
    overhead = 700
    return Item(
        title=f"{title} ({feed}-{place})",
        link=link,
        guid=f"https://site-{feed}.example/?p={feed * 1_000 + place}",
        author=prose.title(luck).split()[0].capitalize(),
        categories=tuple(luck.choices(prose.words, k=luck.randint(1, 4))),
        published=NEWEST - timedelta(hours=7 * place, minutes=feed),
        summary=summary,
        content=prose.html(luck, max(200, size - overhead), link),
    )


def _rss(feed: int, items: list[Item]) -> str:
    head = (
        '<?xml version="1.0" encoding="UTF-8"?>\n<rss version="2.0"'
        ' xmlns:content="http://purl.org/rss/1.0/modules/content/"'
        ' xmlns:dc="http://purl.org/dc/elements/1.1/"'
        ' xmlns:atom="http://www.w3.org/2005/Atom"'
        ' xmlns:sy="http://purl.org/rss/1.0/modules/syndication/">\n<channel>\n'
        f"<title>Site {feed}</title>\n<link>https://site-{feed}.example</link>\n"
        f'<atom:link href="https://site-{feed}.example/feed" rel="self"/>\n'
        f"<description>News of site {feed}</description>\n"
        f"<lastBuildDate>{_rfc822(items[0].published)}</lastBuildDate>\n<language>en</language>\n"
        "<sy:updatePeriod>hourly</sy:updatePeriod><sy:updateFrequency>1</sy:updateFrequency>\n"
    )
    return head + "".join(map(_rss_item, items)) + "</channel>\n</rss>\n"


def _rss_item(item: Item) -> str:
    categories = "".join(f"<category>{escape(each)}</category>" for each in item.categories)
    return (
        f"<item>\n<title>{escape(item.title)}</title>\n<link>{item.link}</link>\n"
        f"<dc:creator><![CDATA[{item.author}]]></dc:creator>\n"
        f"<pubDate>{_rfc822(item.published)}</pubDate>\n{categories}\n"
        f'<guid isPermaLink="false">{escape(item.guid)}</guid>\n'
        f"<description><![CDATA[{item.summary}]]></description>\n"
        f"<content:encoded><![CDATA[{item.content}]]></content:encoded>\n</item>\n"
    )


def _atom(feed: int, items: list[Item]) -> str:
    head = (
        '<?xml version="1.0" encoding="utf-8"?>\n<feed xmlns="http://www.w3.org/2005/Atom">\n'
        f"<title>Site {feed}</title>\n<id>https://site-{feed}.example/</id>\n"
        f'<link href="https://site-{feed}.example/"/>\n'
        f'<link rel="self" href="https://site-{feed}.example/feed.atom"/>\n'
        f"<updated>{items[0].published:%Y-%m-%dT%H:%M:%SZ}</updated>\n"
    )
    return head + "".join(map(_atom_entry, items)) + "</feed>\n"


def _atom_entry(item: Item) -> str:
    moment = f"{item.published:%Y-%m-%dT%H:%M:%SZ}"
    categories = "".join(f'<category term="{escape(each)}"/>' for each in item.categories)
    return (
        f"<entry>\n<title>{escape(item.title)}</title>\n<id>{escape(item.guid)}</id>\n"
        f'<link rel="alternate" type="text/html" href="{item.link}"/>\n'
        f"<published>{moment}</published>\n<updated>{moment}</updated>\n"
        f"<author><name>{item.author}</name></author>\n{categories}\n"
        f"<summary>{escape(item.summary)}</summary>\n"
        f'<content type="html">{escape(item.content)}</content>\n</entry>\n'
    )


def _rfc822(moment: datetime) -> str:
    return format_datetime(moment, usegmt=True)
