"""An entry, as the parser or the store has it, read as a candidate: hash, torrent, size, date."""

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
    """What is asked of an entry of the store. Lists are JSON text, moments are microseconds."""

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
    """What an entry says, the same for both of its shapes. `stated` are extensions by name."""

    link: str | None
    guid: str | None
    files: tuple[_File, ...]
    stated: Mapping[str, str]
    namespaces: frozenset[str]
    words: tuple[str, ...]

    @property
    def addresses(self) -> tuple[str, ...]:
        urls = [self.link, self.guid, *(file.url for file in self.files)]
        return tuple(url for url in urls if url and url.startswith(("http://", "https://")))

    @property
    def site(self) -> str:
        return site_of(self.addresses, self.namespaces)


def candidate_of_entry(entry: Entry, first_seen: datetime, *, feed: str = "") -> TorrentCandidate:
    """For a document that has just been read: `first_seen` is the moment of reading it."""
    said = _EntryFacts(
        entry.link,
        entry.native_id,
        tuple(_File(one.url, one.type, one.length) for one in entry.enclosures)
        + tuple(_File(one.href, one.type, one.length) for one in entry.links),
        _first_extension_values(entry.extensions),
        frozenset(entry.extensions),
        tuple(body.value for body in (entry.summary, entry.content) if body),
    )
    title = entry.title
    return _candidate(
        (feed, entry.uid),
        _plain(title.value, title.type) if title else "",
        said,
        (entry.published or entry.updated, first_seen),
    )


def candidate_of_row(kept: EntryRow, *, feed: str = "") -> TorrentCandidate:
    details: Mapping[str, Any] = orjson.loads(kept.details)
    extensions: Mapping[str, Mapping[str, Sequence[str]]] = details.get("extensions", {})
    said = _EntryFacts(
        kept.canonical_link,
        details.get("native_id"),
        tuple(
            _File(one["url"], one.get("type"), one.get("length"))
            for one in orjson.loads(kept.enclosures)
        )
        + tuple(
            _File(one["href"], one.get("type"), one.get("length"))
            for one in details.get("links", ())
        ),
        _first_extension_values(extensions),
        frozenset(extensions),
        tuple(body for body in (kept.summary, kept.content) if body),
    )
    published = kept.updated if kept.published is None else kept.published
    return _candidate(
        (feed, kept.entry_uid),
        _plain(kept.title or "", details.get("title_type", "text")),
        said,
        (maybe_moment(published), from_micros(kept.first_seen)),
    )


def _candidate(
    identity: tuple[str, str],
    title: str,
    said: _EntryFacts,
    dates: tuple[datetime | None, datetime],
) -> TorrentCandidate:
    torrent, magnet = _torrent_url(said), _magnet(said)
    claims = _stated_hashes(said, torrent, magnet)
    infohash = next(iter(claims.values()), None)
    if torrent is None and magnet is not None:
        infohash = magnet.infohash  # what will be fetched counts, whatever else is said
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
        source=said.site,
        infohash=infohash,
        torrent_url=torrent,
        magnet=magnet.uri if magnet else None,
        size=_size(said),
        seeders=_seeders(said),
        page=_page(said, torrent),
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
    found: dict[str, str] = {}
    for names in extensions.values():
        for name, values in names.items():
            if values:
                found.setdefault(name.lower(), values[0].strip())
    return found


def _torrent_url(said: _EntryFacts) -> str | None:
    for file in said.files:
        if file.is_torrent:
            return file.url
    if said.link and _is_torrent_path(said.link):
        return said.link
    return torrent_url_of_page(said.addresses)


def _is_torrent_path(url: str) -> bool:
    path = url.partition("#")[0].partition("?")[0].lower()
    return path.startswith("http") and path.endswith((".torrent", "/torrent"))


def _magnet(said: _EntryFacts) -> Magnet | None:
    """From a file, from what an indexer states or has for a guid, or from the entry's words."""
    written = [file.url for file in said.files] + [said.guid or ""]
    written += [said.stated.get(name, "") for name in ("magneturl", "magneturi")]
    for text in written:
        if text and (found := parse_magnet(text)) is not None:
            return found
    for words in said.words:
        link = _MAGNET.search(words[:_MOST_SEARCHED])
        if link and (found := parse_magnet(unescaped(link[0]))) is not None:
            return found
    return None


def _stated_hashes(said: _EntryFacts, torrent: str | None, magnet: Magnet | None) -> dict[str, str]:
    """What each part of the entry says the hash is, the plainest word first."""
    found = {
        "entry": infohash_of(said.stated.get("infohash", "")),
        "magnet link": magnet.infohash if magnet else None,
        "torrent's address": hash_in_path(torrent) if torrent else None,
        "page's address": hash_in_path(said.link) if said.link else None,
        "guid": hash_in_guid(said.guid, said.site),
    }
    return {where: claim for where, claim in found.items() if claim is not None}


def _size(said: _EntryFacts) -> int | None:
    for name in ("contentlength", "size"):
        stated = said.stated.get(name, "")
        found = int(stated) if _is_number(stated) else _size_in_words(stated)
        if found is not None and SMALLEST_VIDEO <= found <= LARGEST:
            return found
    for file in said.files:
        if file.length is not None and SMALLEST_VIDEO <= file.length <= LARGEST:
            return file.length
    for words in said.words:
        if (found := _size_in_words(words[:_MOST_SEARCHED])) is not None:
            return found
    return None


def _size_in_words(words: str) -> int | None:
    """`37.3 GiB`. Sites that write MB mean MiB: where both are given, the bytes say so."""
    found = _SIZE.search(words)
    return int(float(found[1]) * _UNITS[found[2].lower()]) if found else None


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) <= 18


def _seeders(said: _EntryFacts) -> int | None:
    for name in ("seeders", "seeds"):
        stated = said.stated.get(name, "")
        if _is_number(stated):
            return min(int(stated), MOST_SEEDERS)
    for words in said.words:
        if found := _SEEDERS.search(words[:_MOST_SEARCHED]):
            return min(int(found[1]), MOST_SEEDERS)
    return None


def _page(said: _EntryFacts, torrent: str | None) -> str | None:
    """Where a person can read about it, which the link of some sites is not."""
    for url in (said.link, said.guid):
        if url and url != torrent and url.startswith(("http://", "https://")):
            if not _is_torrent_path(url):
                return url
    return None
