"""Documents of the kinds that are met in the wild, made up, the same ones for the same seed."""

import json
import random
from collections.abc import Callable
from datetime import datetime, timedelta
from email.utils import format_datetime
from html import escape

from bench.parse.corpus import Sample
from bench.poll.documents import NEWEST, Prose

_CJK = [chr(0x4E00 + step) for step in range(0, 6_000, 7)]
_SECTIONS = "news tech culture sport science".split()


def generated(seed: int = 1) -> list[Sample]:
    """About ninety documents, made to resemble ninety real ones in what decides the cost.

    Real and these: 51 and 57 KB a document; 3.0 and 3.1 KB, 12.4 and 12.5 elements, 4.6 and 4.9
    attributes an entry; in both, a few documents with whole articles hold half of the bytes.
    """
    maker = Maker(seed)
    kinds: list[tuple[str, Callable[[int], str], int]] = [
        ("blog", maker.blog, 26),
        ("atom-html", maker.atom_html, 16),
        ("atom-xhtml", maker.atom_xhtml, 8),
        ("podcast", maker.podcast, 8),
        ("pictures", maker.pictures, 3),
        ("video", maker.video, 5),
        ("headlines", maker.headlines, 6),
        ("cjk", maker.cjk, 6),
        ("rdf", maker.rdf, 4),
        ("torrents", maker.torrents, 2),
        ("torn", maker.torn, 4),
        ("json", maker.json_feed, 4),
    ]
    return [
        Sample(f"{kind}-{number:02}", make(number).encode())
        for kind, make, count in kinds
        for number in range(count)
    ]


def _rfc822(moment: datetime) -> str:
    return format_datetime(moment, usegmt=True)


def _iso(moment: datetime) -> str:
    return f"{moment:%Y-%m-%dT%H:%M:%SZ}"


class Maker:
    """Writes documents; each method one kind, `number` decides about size and content."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._prose = Prose(random.Random(seed))
        self._luck = random.Random(seed)
        self._length = 1.0

    def _begin(self, kind: str, number: int) -> str:
        self._luck = random.Random(f"{self._seed}:{kind}:{number}")
        # Most feeds have excerpts or short posts, every fifth has whole articles.
        self._length = 4.0 if number % 5 == 0 else 0.8
        return f"https://{kind}-{number}.example"

    def _items(self, fewest: int, most: int) -> range:
        return range(self._luck.randint(fewest, most))

    def _title(self) -> str:
        return self._prose.title(self._luck)

    def _words(self, sentences: int) -> str:
        return self._prose.sentences(self._luck, sentences)

    def _html(self, smallest: int, largest: int, link: str) -> str:
        size = self._luck.randint(smallest, largest) * self._length
        return self._prose.html(self._luck, int(size), link)

    def _when(self, place: int) -> datetime:
        return NEWEST - timedelta(hours=9 * place, minutes=self._luck.randint(0, 400))

    def _rss(self, site: str, names: str, head: str, items: list[str]) -> str:
        return (
            f'<?xml version="1.0" encoding="UTF-8"?>\n<rss version="2.0" {names}'
            ' xmlns:atom="http://www.w3.org/2005/Atom">\n<channel>\n'
            f"<title>{self._title()}</title>\n<link>{site}/</link>\n"
            f'<atom:link href="{site}/feed" rel="self" type="application/rss+xml"/>\n'
            f"<description>{self._words(1)}</description>\n<language>en-US</language>\n"
            f"<lastBuildDate>{_rfc822(NEWEST)}</lastBuildDate>\n{head}"
            + "".join(items)
            + "</channel>\n</rss>\n"
        )

    def blog(self, number: int) -> str:
        """What the most used blog software writes."""
        site = self._begin("blog", number)
        items = [self._blog_item(site, place) for place in self._items(5, 20)]
        return self._rss(
            site,
            'xmlns:content="http://purl.org/rss/1.0/modules/content/"'
            ' xmlns:wfw="http://wellformedweb.org/CommentAPI/"'
            ' xmlns:dc="http://purl.org/dc/elements/1.1/"'
            ' xmlns:sy="http://purl.org/rss/1.0/modules/syndication/"'
            ' xmlns:slash="http://purl.org/rss/1.0/modules/slash/"',
            "<sy:updatePeriod>hourly</sy:updatePeriod>\n<sy:updateFrequency>1</sy:updateFrequency>\n"
            "<generator>https://blogs.example/?v=6.5</generator>\n",
            items,
        )

    def _blog_item(self, site: str, place: int) -> str:
        link = f"{site}/{2025 - place // 9}/{place:03}/"
        categories = "".join(
            f"\t\t<category><![CDATA[{self._title().split()[0]}]]></category>\n"
            for _ in range(self._luck.randint(1, 6))
        )
        return (
            f"\t<item>\n\t\t<title>{escape(self._title())} &#8211; {place}</title>\n"
            f"\t\t<link>{link}</link>\n\t\t<comments>{link}#respond</comments>\n"
            f"\t\t<dc:creator><![CDATA[{self._title().split()[0]}]]></dc:creator>\n"
            f"\t\t<pubDate>{_rfc822(self._when(place))}</pubDate>\n{categories}"
            f'\t\t<guid isPermaLink="false">{site}/?p={place + 1000}</guid>\n'
            f"\t\t<description><![CDATA[{self._words(2)} [&#8230;]]]></description>\n"
            f"\t\t<content:encoded><![CDATA[{self._html(300, 4_000, link)}]]></content:encoded>\n"
            f"\t\t<wfw:commentRss>{link}feed/</wfw:commentRss>\n"
            "\t\t<slash:comments>3</slash:comments>\n\t</item>\n"
        )

    def _atom(self, site: str, entries: list[str], base: str = "") -> str:
        return (
            f'<?xml version="1.0" encoding="utf-8"?>\n<feed xmlns="http://www.w3.org/2005/Atom"'
            f' xmlns:media="http://search.yahoo.com/mrss/" xml:lang="en"{base}>\n'
            f'<title>{self._title()}</title>\n<id>{site}/</id>\n<link href="{site}/"/>\n'
            f'<link rel="self" href="{site}/feed.atom"/>\n<updated>{_iso(NEWEST)}</updated>\n'
            f"<author><name>{self._title()}</name><uri>{site}/about</uri></author>\n"
            '<generator uri="https://tools.example/" version="4.2">Press</generator>\n'
            + "".join(entries)
            + "</feed>\n"
        )

    def _entry(self, site: str, place: int, inner: str) -> str:
        moment = self._when(place)
        return (
            f'<entry>\n<title type="html">{escape(self._title())}</title>\n'
            f'<link href="{site}/posts/{place}" rel="alternate" type="text/html"/>\n'
            f"<id>tag:{site[8:]},{moment:%Y-%m-%d}:{place}</id>\n"
            f"<published>{_iso(moment)}</published>\n<updated>{_iso(moment)}</updated>\n"
            f'<category term="{self._luck.choice(_SECTIONS)}" scheme="{site}/tags"/>\n'
            f"{inner}</entry>\n"
        )

    def atom_html(self, number: int) -> str:
        """Escaped HTML with some relative addresses, as static site generators write it."""
        site = self._begin("atom-html", number)
        entries = [
            self._entry(
                site,
                place,
                f'<content type="html">{escape(self._html(300, 5_000, f"/p/{place}"))}</content>\n'
                f'<summary type="html">{escape(self._words(1))}</summary>\n',
            )
            for place in self._items(4, 25)
        ]
        return self._atom(site, entries, f' xml:base="{site}/"' if number % 3 == 0 else "")

    def atom_xhtml(self, number: int) -> str:
        site = self._begin("atom-xhtml", number)
        entries = [
            self._entry(
                site,
                place,
                '<content type="xhtml"><div xmlns="http://www.w3.org/1999/xhtml">'
                f"{self._html(300, 4_000, f'{site}/{place}')}</div></content>\n",
            )
            for place in self._items(5, 20)
        ]
        return self._atom(site, entries)

    def podcast(self, number: int) -> str:
        site = self._begin("podcast", number)
        head = (
            f"<itunes:author>{self._title()}</itunes:author>\n"
            "<itunes:explicit>false</itunes:explicit>\n"
            f'<itunes:image href="{site}/cover.jpg"/>\n'
            '<itunes:category text="Society &amp; Culture"><itunes:category text="Documentary"/>'
            "</itunes:category>\n<itunes:owner><itunes:name>"
            f"{self._title()}</itunes:name><itunes:email>pod@{site[8:]}</itunes:email>"
            "</itunes:owner>\n"
            f"<image><url>{site}/cover.jpg</url><title>x</title><link>{site}</link></image>\n"
        )
        items = [self._episode(site, place) for place in self._items(5, 60)]
        return self._rss(
            site,
            'xmlns:itunes="http://www.itunes.com/dtds/podcast-1.0.dtd"'
            ' xmlns:podcast="https://podcastindex.org/namespace/1.0"'
            ' xmlns:content="http://purl.org/rss/1.0/modules/content/"',
            head,
            items,
        )

    def _episode(self, site: str, place: int) -> str:
        title, notes = self._title(), self._html(200, 2_500, site)
        return (
            f"<item><title>{place}: {title}</title><itunes:title>{title}</itunes:title>"
            f"<itunes:episode>{place}</itunes:episode><itunes:episodeType>full</itunes:episodeType>\n"
            f"<link>{site}/episodes/{place}</link>"
            f'<guid isPermaLink="false">{self._luck.getrandbits(128):032x}</guid>\n'
            f"<pubDate>{_rfc822(self._when(place))}</pubDate>"
            f"<author>host@{site[8:]} (Host)</author>\n"
            f"<description>{escape(notes)}</description>"
            f"<itunes:summary>{self._words(1)}</itunes:summary>\n"
            f'<enclosure url="{site}/audio/{place}.mp3?source=feed&amp;n={place}"'
            f' length="{self._luck.randint(9_000_000, 90_000_000)}" type="audio/mpeg"/>\n'
            f"<itunes:duration>{place % 2}:{self._luck.randint(10, 59)}:07</itunes:duration>"
            f'<podcast:transcript url="{site}/{place}.vtt" type="text/vtt"/></item>\n'
        )

    def pictures(self, number: int) -> str:
        """Media RSS: groups, thumbnails and several sizes of each picture."""
        site = self._begin("pictures", number)
        items = [
            f"<item><title>{self._title()}</title><link>{site}/{place}</link>"
            f'<guid isPermaLink="true">{site}/{place}</guid>'
            f"<pubDate>{_rfc822(self._when(place))}</pubDate>\n"
            f"<description>{escape(self._words(2))}</description><media:group>"
            + "".join(
                f'<media:content url="{site}/{place}-{width}.jpg" medium="image" type="image/jpeg"'
                f' width="{width}" height="{width // 2}"/>\n'
                for width in (320, 640, 1280)
            )
            + f'</media:group><media:thumbnail url="{site}/{place}-t.jpg" width="80" height="40"/>'
            f'<media:credit role="photographer">{self._title().split()[0]}</media:credit></item>\n'
            for place in self._items(10, 30)
        ]
        return self._rss(site, 'xmlns:media="http://search.yahoo.com/mrss/"', "", items)

    def video(self, number: int) -> str:
        """Atom with a media:group for each film."""
        site = self._begin("video", number)
        entries = [
            self._entry(
                site,
                place,
                f"<media:group><media:title>{self._title()}</media:title>"
                f'<media:content url="{site}/v/{place}?version=3" type="video/mp4" width="640"/>'
                f'<media:thumbnail url="{site}/{place}.jpg" width="480" height="360"/>'
                f"<media:description>{self._words(8)}</media:description>"
                f'<media:community><media:starRating count="{place}" average="5.00"/>'
                f'<media:statistics views="{place * 991}"/></media:community></media:group>\n',
            )
            for place in range(15)
        ]
        return self._atom(site, entries)

    def headlines(self, number: int) -> str:
        """Many short items, as newspapers have them."""
        site = self._begin("headlines", number)
        items = [
            f"<item><title>{self._title()}</title><link>{site}/{self._luck.choice(_SECTIONS)}/{place}"
            f"</link><description>{self._words(1)}</description><pubDate>{_rfc822(self._when(place))}"
            f"</pubDate><guid>{site}/article/{place}</guid><category>"
            f"{self._luck.choice(_SECTIONS)}</category></item>\n"
            for place in self._items(10, 70)
        ]
        return self._rss(site, "", "<ttl>15</ttl>\n", items)

    def _han(self, fewest: int, most: int) -> str:
        return "".join(self._luck.choices(_CJK, k=self._luck.randint(fewest, most)))

    def cjk(self, number: int) -> str:
        site = self._begin("cjk", number)
        items = [
            f"<item><title><![CDATA[{self._han(8, 30)}]]></title><link>{site}/{place}.html</link>"
            f"<author>{self._han(2, 4)}</author><pubDate>{_rfc822(self._when(place))}</pubDate>"
            f"<guid>{site}/{place}.html</guid><category>{self._han(2, 4)}</category>"
            "<description><![CDATA["
            + "".join(f"<p>{self._han(40, 200)}，{self._han(20, 90)}。</p>" for _ in range(6))
            + f'<img src="/images/{place}.png">]]></description></item>\n'
            for place in self._items(5, 30)
        ]
        return self._rss(site, "", "", items)

    def rdf(self, number: int) -> str:
        site = self._begin("rdf", number)
        places = self._items(10, 40)
        items = "".join(
            f'<item rdf:about="{site}/{place}"><title>{self._title()}</title>'
            f"<link>{site}/{place}</link><description>{self._words(2)}</description>"
            f"<dc:date>{_iso(self._when(place))}</dc:date><dc:creator>{self._title().split()[0]}</dc:creator><dc:subject>x</dc:subject></item>\n"
            for place in places
        )
        table = "".join(f'<rdf:li rdf:resource="{site}/{place}"/>' for place in places)
        return (
            '<?xml version="1.0"?>\n<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"'
            ' xmlns="http://purl.org/rss/1.0/" xmlns:dc="http://purl.org/dc/elements/1.1/">\n'
            f'<channel rdf:about="{site}/"><title>{self._title()}</title><link>{site}/</link>'
            f"<description>x</description><items><rdf:Seq>{table}</rdf:Seq></items></channel>\n"
            f"{items}</rdf:RDF>\n"
        )

    def torrents(self, number: int) -> str:
        site = self._begin("torrents", number)
        items = [
            f"<item><title>[{self._title().split()[0]}] {self._han(4, 9)} - {place:02} [1080p]"
            f"</title><link>{site}/download/{place}.torrent</link>"
            f'<guid isPermaLink="true">{site}/view/{place}'
            f"</guid><pubDate>{self._when(place):%a, %d %b %Y %H:%M:%S} -0000</pubDate>"
            f"<nyaa:seeders>{place}</nyaa:seeders><nyaa:infoHash>{self._luck.getrandbits(160):040x}"
            "</nyaa:infoHash><nyaa:size>1.3 GiB</nyaa:size><nyaa:trusted>No</nyaa:trusted>"
            f'<description><![CDATA[<a href="{site}/view/{place}">#{place}</a>]]></description>'
            "</item>\n"
            for place in range(50)
        ]
        return self._rss(site, f'xmlns:nyaa="{site}/xmlns/nyaa"', "", items)

    def torn(self, number: int) -> str:
        """Not well-formed: entities XML does not know, bare ampersands, an end that is missing."""
        text = (
            self.blog(100 + number)
            .replace(" &#8211; ", " &mdash; ")
            .replace("#respond", "?a=1&b=2")
        )
        return text if number % 2 else text[: len(text) * 9 // 10]

    def json_feed(self, number: int) -> str:
        site = self._begin("json", number)
        items = [
            {
                "id": f"{site}/{place}",
                "url": f"{site}/{place}",
                "title": self._title(),
                "content_html": self._html(400, 6_000, f"{site}/{place}"),
                "date_published": _iso(self._when(place)),
                "authors": [{"name": self._title()}],
                "tags": [self._luck.choice(_SECTIONS)],
            }
            for place in self._items(4, 25)
        ]
        head = {"version": "https://jsonfeed.org/version/1.1", "title": self._title()}
        return json.dumps({**head, "home_page_url": site, "items": items}, ensure_ascii=False)
