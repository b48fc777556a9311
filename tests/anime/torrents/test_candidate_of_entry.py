"""Entries of the sites that list releases, read as candidates; each shape written by hand."""

from dataclasses import dataclass
from datetime import UTC, datetime

import orjson
import pytest

from headwater.anime.candidate import TorrentCandidate
from headwater.anime.torrents.candidate_of_entry import candidate_of_entry, candidate_of_row
from headwater.core.values.instant import to_micros
from headwater.feeds.entries.normalise_entry import normalise_entry
from headwater.parse.document import Entry
from headwater.parse.parser import parse
from tests.support.releases import NOON

HASH = "00112233445566778899aabbccddeeff00112233"
BASE32 = "AAISEM2EKVTHPCEZVK54ZXPO74ABCIRT"
OTHER = "ffeeddccbbaa99887766554433221100ffeeddcc"


@dataclass
class Row:
    """An entry as the store has it."""

    entry_uid: str
    canonical_link: str | None
    title: str | None
    summary: str | None
    content: str | None
    enclosures: str
    details: str
    published: int | None
    updated: int | None
    first_seen: int


def entry(item: str, namespaces: str = "") -> Entry:
    channel = f"<channel><title>t</title><item>{item}</item></channel>"
    body = f'<rss version="2.0" {namespaces}>{channel}</rss>'
    document = parse(body.encode(), url="https://feed.example/rss")
    assert len(document.entries) == 1
    return document.entries[0]


def kept(parsed: Entry) -> Row:
    made = normalise_entry(parsed, parsed.uid)
    return Row(
        made.uid,
        made.link,
        made.title,
        made.summary,
        made.content,
        made.enclosures,
        made.details,
        made.published,
        made.updated,
        to_micros(NOON),
    )


def read(item: str, namespaces: str = "") -> TorrentCandidate:
    """Both ways in give the same candidate: fresh from the parser, and from the store."""
    parsed = entry(item, namespaces)
    fresh = candidate_of_entry(parsed, NOON)
    assert candidate_of_row(kept(parsed)) == fresh
    return fresh


def test_mikanani_has_its_hash_in_addresses_and_its_dates_in_china() -> None:
    found = read(
        f'<guid isPermaLink="false">[A] 番 - 01</guid>'
        f"<link>https://mikanani.me/Home/Episode/{HASH}</link><title>[A] 番 - 01</title>"
        "<description>[A] 番 - 01[802.51 MB]</description>"
        f'<torrent xmlns="https://mikanani.me/0.1/"><link>https://mikanani.me/Home/Episode/{HASH}</link>'
        "<contentLength>841492736</contentLength><pubDate>2026-10-02T00:30:00.5</pubDate></torrent>"
        '<enclosure type="application/x-bittorrent" length="841492736"'
        f' url="https://mikanani.me/Download/20261002/{HASH}.torrent"/>'
    )
    assert found == TorrentCandidate(
        uid="[A] 番 - 01",
        title="[A] 番 - 01",
        first_seen=NOON,
        published=datetime(2026, 10, 1, 16, 30, 0, 500_000, tzinfo=UTC),
        source="mikanani",
        infohash=HASH,
        torrent_url=f"https://mikanani.me/Download/20261002/{HASH}.torrent",
        size=841_492_736,
        page=f"https://mikanani.me/Home/Episode/{HASH}",
    )


def test_nyaa_has_no_enclosure_and_its_link_is_the_torrent() -> None:
    found = read(
        "<title>[A] Show - 01</title><link>https://nyaa.si/download/12.torrent</link>"
        '<guid isPermaLink="true">https://nyaa.si/view/12</guid>'
        "<pubDate>Fri, 02 Oct 2026 08:52:08 -0000</pubDate><nyaa:seeders>21</nyaa:seeders>"
        f"<nyaa:infoHash>{HASH.upper()}</nyaa:infoHash><nyaa:size>1.5 GiB</nyaa:size>",
        'xmlns:nyaa="https://nyaa.si/xmlns/nyaa"',
    )
    assert found.source == "nyaa"
    assert found.infohash == HASH
    assert found.torrent_url == "https://nyaa.si/download/12.torrent"
    assert found.size == 1_610_612_736
    assert found.seeders == 21
    assert found.page == "https://nyaa.si/view/12"
    assert found.published == datetime(2026, 10, 2, 8, 52, 8, tzinfo=UTC)


def test_nyaas_feed_of_magnets_still_leads_to_the_torrent() -> None:
    found = read(
        f"<title>[A] Show - 01</title><link>magnet:?xt=urn:btih:{HASH}</link>"
        '<guid isPermaLink="true">https://nyaa.si/view/12</guid>'
        f"<nyaa:infoHash>{HASH}</nyaa:infoHash>",
        'xmlns:nyaa="https://nyaa.si/xmlns/nyaa"',
    )
    assert found.infohash == HASH
    assert found.torrent_url == "https://nyaa.si/download/12.torrent"


def test_dmhy_has_a_magnet_in_base32_and_a_length_of_one() -> None:
    found = read(
        "<title><![CDATA[ [A] 番 - 01 ]]></title>"
        "<link>http://share.dmhy.org/topics/view/1_x.html</link>"
        "<pubDate>Wed, 15 Jan 2025 15:09:14 +0800</pubDate>"
        f'<enclosure url="magnet:?xt=urn:btih:{BASE32}&amp;dn=&amp;tr=http://t.example/a"'
        ' length="1" type="application/x-bittorrent"/>'
    )
    assert found.title == "[A] 番 - 01"
    assert found.source == "dmhy"
    assert found.infohash == HASH
    assert found.torrent_url is None
    assert found.magnet == f"magnet:?xt=urn:btih:{HASH}&tr=http%3A%2F%2Ft.example%2Fa"
    assert found.size is None
    assert found.published == datetime(2025, 1, 15, 7, 9, 14, tzinfo=UTC)


def test_acg_rip_says_no_hash() -> None:
    found = read(
        "<title>[A] 番 - 01</title><link>https://acg.rip/t/3</link><guid>https://acg.rip/t/3</guid>"
        "<pubDate>Tue, 14 Jan 2025 09:35:59 -0800</pubDate>"
        '<enclosure url="https://acg.rip/t/3.torrent" type="application/x-bittorrent"/>'
    )
    assert found.source == "acg.rip"
    assert found.infohash is None
    assert found.torrent_url == "https://acg.rip/t/3.torrent"
    assert found.published == datetime(2025, 1, 14, 17, 35, 59, tzinfo=UTC)


def test_bangumi_moe_writes_addresses_that_are_not_escaped() -> None:
    found = read(
        "<title>[A] 番 - 01</title><link>https://bangumi.moe/torrent/0123456789abcdef</link>"
        '<enclosure url="https://bangumi.moe/download/torrent/0123456789abcdef/[A] 番.torrent"'
        ' type="application/x-bittorrent"/>'
    )
    assert found.source == "bangumi.moe"
    assert found.torrent_url == (
        "https://bangumi.moe/download/torrent/0123456789abcdef/[A]%20%E7%95%AA.torrent"
    )
    assert found.infohash is None


def test_animetosho_lists_a_torrent_and_an_nzb() -> None:
    found = read(
        "<title>Show - 05.mkv</title><link>https://animetosho.org/view/x.1</link>"
        "<description>&lt;strong>Total Size&lt;/strong>: 158.1 MB</description>"
        '<enclosure url="https://storage.animetosho.org/nzb/1/Show.nzb"'
        ' type="application/x-nzb" length="0"/>'
        f'<enclosure url="https://storage.animetosho.org/torrents/{HASH}/Show.torrent"'
        ' type="application/x-bittorrent" length="0"/>'
    )
    assert found.source == "animetosho"
    assert found.infohash == HASH
    assert found.torrent_url == f"https://storage.animetosho.org/torrents/{HASH}/Show.torrent"
    assert found.size == 165_779_865


def test_torznab_states_everything_as_attributes() -> None:
    found = read(
        "<title>Show - 07</title><guid>https://indexer.example/view/9</guid>"
        '<enclosure url="https://indexer.example/dl/9?key=k"'
        ' type="application/x-bittorrent" length="0"/>'
        '<torznab:attr name="size" value="316477946"/><torznab:attr name="seeders" value="5"/>'
        f'<torznab:attr name="infohash" value="{HASH}"/>'
        f'<torznab:attr name="magneturl" value="magnet:?xt=urn:btih:{BASE32}"/>',
        'xmlns:torznab="http://torznab.com/schemas/2015/feed"',
    )
    assert found.source == "torznab"
    assert (found.infohash, found.size, found.seeders) == (HASH, 316_477_946, 5)
    assert found.torrent_url == "https://indexer.example/dl/9?key=k"
    assert found.magnet == f"magnet:?xt=urn:btih:{HASH}"
    assert found.doubts == ()


def test_ezrss_names_work_for_any_site() -> None:
    found = read(
        "<title>Show - 07</title><link>https://site.example/t/1</link>"
        f"<torrent:infoHash>{HASH}</torrent:infoHash>"
        f"<torrent:magnetURI>magnet:?xt=urn:btih:{HASH}</torrent:magnetURI>"
        "<torrent:contentLength>819421184</torrent:contentLength><torrent:seeds>3</torrent:seeds>",
        'xmlns:torrent="http://xmlns.ezrss.it/0.1/"',
    )
    assert (found.source, found.infohash, found.size, found.seeders) == (
        "other",
        HASH,
        819_421_184,
        3,
    )
    assert found.can_be_fetched


def test_subsplease_writes_its_hash_as_guid() -> None:
    found = read(
        "<title>[SubsPlease] Show - 01 (1080p).mkv</title><link>https://nyaa.si/view/5/torrent</link>"
        f'<guid isPermaLink="false">{BASE32}</guid><subsplease:size>1.4 GiB</subsplease:size>',
        'xmlns:subsplease="https://subsplease.org/rss"',
    )
    assert found.source == "subsplease"
    assert found.infohash == HASH
    assert found.torrent_url == "https://nyaa.si/view/5/torrent"


def test_a_hash_alone_is_enough_to_fetch() -> None:
    """Its feed of magnets has them where only web addresses are kept; the guid remains."""
    found = read(
        f"<title>[SubsPlease] Show - 01 (1080p).mkv</title><link>magnet:?xt=urn:btih:{HASH}</link>"
        f'<guid isPermaLink="false">{BASE32}</guid><subsplease:size>1.4 GiB</subsplease:size>',
        'xmlns:subsplease="https://subsplease.org/rss"',
    )
    assert found.torrent_url is None
    assert found.magnet == f"magnet:?xt=urn:btih:{HASH}"


def test_a_magnet_where_the_page_belongs_is_found() -> None:
    found = read(
        f"<title>Sea - 01</title><link>magnet:?xt=urn:btih:{HASH}&amp;dn=Sea</link>"
        "<guid isPermaLink='false'>1</guid>"
    )
    assert (found.infohash, found.torrent_url, found.page) == (HASH, None, None)
    assert found.magnet is not None
    assert found.magnet.startswith(f"magnet:?xt=urn:btih:{HASH}")


def test_a_reference_of_thousands_of_digits_in_a_magnet_stops_nothing() -> None:
    words = f"magnet:?xt=urn:btih:{HASH}&dn=&#{'1' * 5000};"
    found = read(f"<title>[A] Show - 01</title><description><![CDATA[{words}]]></description>")
    assert found.magnet == f"magnet:?xt=urn:btih:{HASH}&dn=%EF%BF%BD"


def test_a_magnet_for_a_guid_is_found() -> None:
    found = read(
        "<title>Sea - 01</title><link>https://site.example/1</link>"
        f"<guid isPermaLink='false'>magnet:?xt=urn:btih:{HASH}&amp;dn=Sea</guid>"
    )
    assert found.magnet == f"magnet:?xt=urn:btih:{HASH}&dn=Sea"
    assert (found.infohash, found.page) == (HASH, "https://site.example/1")


def test_a_magnet_in_the_words_of_an_entry_is_found() -> None:
    found = read(
        "<title>Show - 07</title><link>https://site.example/t/1</link>"
        '<description>&lt;a href="magnet:?xt=urn:btih:'
        f'{HASH}&amp;amp;tr=http://t.example/a">Magnet&lt;/a></description>'
    )
    assert found.magnet == f"magnet:?xt=urn:btih:{HASH}&tr=http%3A%2F%2Ft.example%2Fa"


def test_forty_hex_digits_in_a_strange_path_may_be_a_key() -> None:
    found = read(
        "<title>Show - 07</title>"
        f'<enclosure url="https://tracker.example/rss/{HASH}/9.torrent"'
        ' type="application/x-bittorrent"/>'
    )
    assert found.infohash is None


def test_a_direct_download_is_nothing_to_fetch() -> None:
    found = read(
        "<title>[ANi] 番 - 13.mp4</title><link>https://files.example/13.mp4?d=true</link>"
        "<pubDate>Sat, 11 Jan 2025 13:34:09 GMT</pubDate>"
    )
    assert not found.can_be_fetched


def test_a_contradiction_is_told_and_the_magnet_that_differs_is_dropped() -> None:
    found = read(
        "<title>Show - 07</title><link>https://site.example/1.torrent</link>"
        f'<torznab:attr name="infohash" value="{HASH}"/>'
        f'<torznab:attr name="magneturl" value="magnet:?xt=urn:btih:{OTHER}"/>',
        'xmlns:torznab="http://torznab.com/schemas/2015/feed"',
    )
    assert found.infohash == HASH
    assert found.magnet is None
    assert found.doubts == (f"The magnet link says {OTHER}, not {HASH}.",)


def test_what_will_be_fetched_has_the_last_word_on_the_hash() -> None:
    found = read(
        "<title>Show - 07</title><link>https://site.example/1</link>"
        f'<torznab:attr name="infohash" value="{HASH}"/>'
        f'<torznab:attr name="magneturl" value="magnet:?xt=urn:btih:{OTHER}"/>',
        'xmlns:torznab="http://torznab.com/schemas/2015/feed"',
    )
    assert found.infohash == OTHER
    assert found.doubts == (f"The entry says {HASH}, not {OTHER}.",)


@pytest.mark.parametrize(
    ("published", "moment"),
    [
        ("Fri, 02 Oct 2026 11:00:00 GMT", datetime(2026, 10, 2, 11, tzinfo=UTC)),
        ("Fri, 02 Oct 2099 11:00:00 GMT", NOON),
        ("", NOON),
        ("some day", NOON),
    ],
)
def test_no_date_and_a_date_of_the_future_count_as_first_seen(
    published: str, moment: datetime
) -> None:
    found = read(f"<title>Show - 07</title><guid>1</guid><pubDate>{published}</pubDate>")
    assert found.moment == moment


@pytest.mark.parametrize("size", ["-5", "99999999999999999999", "0", "many", "1" * 400, "1e9"])
def test_a_size_that_no_video_has_is_unknown(size: str) -> None:
    found = read(
        f'<title>Show</title><guid>1</guid><torznab:attr name="size" value="{size}"/>',
        'xmlns:torznab="http://torznab.com/schemas/2015/feed"',
    )
    assert found.size is None


def test_a_title_in_html_is_read_as_words() -> None:
    parsed = parse(
        b'<feed xmlns="http://www.w3.org/2005/Atom"><id>f</id><entry><id>1</id>'
        b'<title type="html">[A &amp;amp; B] &lt;b&gt;Show&lt;/b&gt; - 01</title></entry></feed>'
    ).entries[0]
    assert candidate_of_entry(parsed, NOON).title == "[A & B] Show - 01"
    assert candidate_of_row(kept(parsed)).title == "[A & B] Show - 01"


def test_clients_know_version_two_by_its_first_forty_digits() -> None:
    found = TorrentCandidate("1", "t", NOON, infohash="ab" * 32)
    assert found.is_torrent("AB" * 20)
    assert not found.is_torrent(None)
    assert not TorrentCandidate("1", "t", NOON).is_torrent("ab" * 20)


def test_a_candidate_knows_its_feed() -> None:
    parsed = entry("<title>Show - 07</title><guid>1</guid>")
    assert candidate_of_entry(parsed, NOON, feed="f").feed == "f"
    assert candidate_of_row(kept(parsed), feed="f").feed == "f"


def test_an_entry_of_the_store_without_anything_is_still_a_candidate() -> None:
    row = Row("u", None, None, None, None, "[]", orjson.dumps({}).decode(), None, None, 0)
    found = candidate_of_row(row)
    assert (found.uid, found.title, found.can_be_fetched) == ("u", "", False)
