"""Build the candidate of an entry, as the parser or the store has it: hash, torrent, size, date."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

import orjson

from headwater.anime.candidate import TorrentCandidate
from headwater.anime.torrents.magnet import Magnet, infohash_of, parse_magnet
from headwater.anime.torrents.torrent_sites import (
    hash_in_guid,
    hash_in_path,
    site_of,
    torrent_url_of_page,
)
from headwater.core.values.html_entities import unescaped
from headwater.core.values.instant import from_micros, maybe_moment
from headwater.parse.document import Entry

SMALLEST_VIDEO = 1_048_576
"""A length below this is not a video's: sites write 0, 1, or the size of the torrent file."""

LARGEST = 2**50
MOST_SEEDERS = 10**9

_TORRENT = "application/x-bittorrent"
_MOST_SEARCHED = 65_536
_MAGNET = re.compile(r"magnet:\?[^\s\"'<>\\]{20,8192}", re.IGNORECASE)
_SIZE = re.compile(r"(?<![\d.])(\d{1,6}(?:\.\d{1,4})?)[ \u00a0]?([KMGT])i?B\b", re.IGNORECASE)
_SEEDERS = re.compile(r"\b(\d{1,9}) seeder")
_TAG = re.compile(r"<[^<>]{0,4096}>")
_UNITS = {"k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}


class EntryRow(Protocol):
    """An entry as the store has it. Lists are JSON text, moments are microseconds."""

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


@dataclass(frozen=True, slots=True)
class _File:
    url: str
    type: str | None
    length: int | None

    @property
    def is_torrent(self) -> bool:
        if self.url[:8].lower() == "magnet:?":
            return False
        return self.type == _TORRENT or _is_torrent_path(self.url)


@dataclass(frozen=True, slots=True)
class _EntryFacts:
    """The facts of an entry, the same for both of its shapes. `stated` are extensions by name,
    `bodies` its summary and content."""

    link: str | None
    guid: str | None
    files: tuple[_File, ...]
    stated: Mapping[str, str]
    namespaces: frozenset[str]
    bodies: tuple[str, ...]

    @property
    def addresses(self) -> tuple[str, ...]:
        urls = [self.link, self.guid, *(file.url for file in self.files)]
        return tuple(url for url in urls if url and url.startswith(("http://", "https://")))

    @property
    def site(self) -> str:
        return site_of(self.addresses, self.namespaces)


def candidate_of_entry(entry: Entry, first_seen: datetime, *, feed: str = "") -> TorrentCandidate:
    """The candidate of an entry that has just been read; `first_seen` is the moment of reading
    it."""
    facts = _EntryFacts(
        entry.link,
        entry.native_id,
        tuple(_File(file.url, file.type, file.length) for file in entry.enclosures)
        + tuple(_File(link.href, link.type, link.length) for link in entry.links),
        _first_extension_values(entry.extensions),
        frozenset(entry.extensions),
        tuple(body.value for body in (entry.summary, entry.content) if body),
    )
    title = entry.title
    return _candidate(
        (feed, entry.uid),
        _plain(title.value, title.type) if title else "",
        facts,
        (entry.published or entry.updated, first_seen),
    )


def candidate_of_row(row: EntryRow, *, feed: str = "") -> TorrentCandidate:
    details: Mapping[str, Any] = orjson.loads(row.details)
    extensions: Mapping[str, Mapping[str, Sequence[str]]] = details.get("extensions", {})
    facts = _EntryFacts(
        row.canonical_link,
        details.get("native_id"),
        tuple(
            _File(file["url"], file.get("type"), file.get("length"))
            for file in orjson.loads(row.enclosures)
        )
        + tuple(
            _File(link["href"], link.get("type"), link.get("length"))
            for link in details.get("links", ())
        ),
        _first_extension_values(extensions),
        frozenset(extensions),
        tuple(body for body in (row.summary, row.content) if body),
    )
    published = row.updated if row.published is None else row.published
    return _candidate(
        (feed, row.entry_uid),
        _plain(row.title or "", details.get("title_type", "text")),
        facts,
        (maybe_moment(published), from_micros(row.first_seen)),
    )


def _candidate(
    identity: tuple[str, str],
    title: str,
    facts: _EntryFacts,
    dates: tuple[datetime | None, datetime],
) -> TorrentCandidate:
    torrent, magnet = _torrent_url(facts), _magnet(facts)
    claims = _stated_hashes(facts, torrent, magnet)
    infohash = next(iter(claims.values()), None)
    if torrent is None and magnet is not None:
        infohash = magnet.infohash  # this torrent will be fetched, whatever the entry says
    doubts = tuple(
        f"The {where} says {claim}, not {infohash}."
        for where, claim in claims.items()
        if infohash is not None and claim != infohash and len(claim) == len(infohash)
    )
    if magnet is not None and magnet.infohash != infohash:
        magnet = None
    if torrent is None and magnet is None and infohash is not None:
        magnet = Magnet(infohash)  # a hash alone is enough for clients that ask each other
    return TorrentCandidate(
        feed=identity[0],
        uid=identity[1],
        title=title,
        first_seen=dates[1],
        published=dates[0],
        source=facts.site,
        infohash=infohash,
        torrent_url=torrent,
        magnet=magnet.uri if magnet else None,
        size=_size(facts),
        seeders=_seeders(facts),
        page=_page(facts, torrent),
        doubts=doubts,
    )


def _plain(title: str, kind: str) -> str:
    if kind in ("html", "xhtml"):
        title = unescaped(_TAG.sub(" ", title))
    return " ".join(title.split())


def _first_extension_values(
    extensions: Mapping[str, Mapping[str, Sequence[str]]],
) -> dict[str, str]:
    """The first value of each name, whatever its namespace: sites agree on names, not on URIs."""
    first_values: dict[str, str] = {}
    for names in extensions.values():
        for name, values in names.items():
            if values:
                first_values.setdefault(name.lower(), values[0].strip())
    return first_values


def _torrent_url(facts: _EntryFacts) -> str | None:
    for file in facts.files:
        if file.is_torrent:
            return file.url
    if facts.link and _is_torrent_path(facts.link):
        return facts.link
    return torrent_url_of_page(facts.addresses)


def _is_torrent_path(url: str) -> bool:
    path = url.partition("#")[0].partition("?")[0].lower()
    return path.startswith("http") and path.endswith((".torrent", "/torrent"))


def _magnet(facts: _EntryFacts) -> Magnet | None:
    """The magnet link of a file, of an extension, of the guid, or in the text of the entry."""
    texts = [file.url for file in facts.files] + [facts.guid or ""]
    texts += [facts.stated.get(name, "") for name in ("magneturl", "magneturi")]
    for text in texts:
        if text and (magnet := parse_magnet(text)) is not None:
            return magnet
    for body in facts.bodies:
        link = _MAGNET.search(body[:_MOST_SEARCHED])
        if link and (magnet := parse_magnet(unescaped(link[0]))) is not None:
            return magnet
    return None


def _stated_hashes(
    facts: _EntryFacts, torrent: str | None, magnet: Magnet | None
) -> dict[str, str]:
    """The hash by each part of the entry that states one, the most explicit first."""
    claims = {
        "entry": infohash_of(facts.stated.get("infohash", "")),
        "magnet link": magnet.infohash if magnet else None,
        "torrent's address": hash_in_path(torrent) if torrent else None,
        "page's address": hash_in_path(facts.link) if facts.link else None,
        "guid": hash_in_guid(facts.guid, facts.site),
    }
    return {where: claim for where, claim in claims.items() if claim is not None}


def _size(facts: _EntryFacts) -> int | None:
    for name in ("contentlength", "size"):
        stated = facts.stated.get(name, "")
        size = int(stated) if _is_number(stated) else _size_in_text(stated)
        if size is not None and SMALLEST_VIDEO <= size <= LARGEST:
            return size
    for file in facts.files:
        if file.length is not None and SMALLEST_VIDEO <= file.length <= LARGEST:
            return file.length
    for body in facts.bodies:
        if (size := _size_in_text(body[:_MOST_SEARCHED])) is not None:
            return size
    return None


def _size_in_text(text: str) -> int | None:
    """`37.3 GiB`. Sites that write MB mean MiB: the bytes show it where a site has both."""
    size = _SIZE.search(text)
    return int(float(size[1]) * _UNITS[size[2].lower()]) if size else None


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) <= 18


def _seeders(facts: _EntryFacts) -> int | None:
    for name in ("seeders", "seeds"):
        stated = facts.stated.get(name, "")
        if _is_number(stated):
            return min(int(stated), MOST_SEEDERS)
    for body in facts.bodies:
        if seeders := _SEEDERS.search(body[:_MOST_SEARCHED]):
            return min(int(seeders[1]), MOST_SEEDERS)
    return None


def _page(facts: _EntryFacts, torrent: str | None) -> str | None:
    """The page that a person can read about it. The link of some sites is the torrent instead."""
    for url in (facts.link, facts.guid):
        if url and url != torrent and url.startswith(("http://", "https://")):
            if not _is_torrent_path(url):
                return url
    return None
