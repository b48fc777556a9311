"""Entries that say something else now: which of them are another release, to be decided anew."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from headwater.collect.candidate import Candidate
from headwater.collect.decisions.decided import Decided
from headwater.collect.offer import Offer
from headwater.values.ids import key_of

_OPEN = ("hold", "skip", "removed")
"""Nobody has acted on these: what is decided of them may change."""


@dataclass(slots=True)
class News:
    """`fresh` was never looked at. `anew` are rows that are to be decided again, for what their
    entry says now. `moved` are rows of the same torrent, which has another address now."""

    fresh: list[Offer] = field(default_factory=list)
    anew: list[tuple[Decided, Offer]] = field(default_factory=list)
    moved: list[tuple[Decided, Candidate]] = field(default_factory=list)


def news_in(offers: Iterable[Offer], known: Mapping[str, Decided]) -> News:
    """`known` are rows by the key of their candidates. An entry whose torrent was wanted keeps its
    row; another torrent under the same entry is an edition of its own, and is decided once. So an
    entry that is edited to and fro brings nothing twice."""
    found = News()
    for offer in {each.candidate.uid: each for each in offers}.values():
        _sort(offer, known, found)
    return found


def _sort(offer: Offer, known: Mapping[str, Decided], found: News) -> None:
    first = known.get(offer.candidate.uid)
    if first is None:
        found.fresh.append(offer)
        return
    if first.action == "refused":
        return
    if first.action in _OPEN or not is_another_torrent(first.candidate, offer.candidate):
        _compare(first, offer, found)
        return
    own = Offer(edition_of(offer.candidate), offer.release)
    was = known.get(own.candidate.key)
    if was is None:
        found.fresh.append(own)
    elif was.action != "refused":
        _compare(was, own, found)


def _compare(was: Decided, offer: Offer, found: News) -> None:
    before, after = was.candidate, offer.candidate
    if _said(before) == _said(after):
        return
    if was.action in _OPEN:
        found.anew.append((was, offer))
    elif (before.torrent_url, before.magnet) != (after.torrent_url, after.magnet):
        moved = replace(before, torrent_url=after.torrent_url, magnet=after.magnet)
        found.moved.append((was, moved))


def _said(candidate: Candidate) -> tuple[str | None, ...]:
    """What a decision, or a download, could depend on. Seeders come and go."""
    return candidate.title, candidate.infohash, candidate.torrent_url, candidate.magnet


def is_another_torrent(was: Candidate, now: Candidate) -> bool:
    """By their hashes. Without these an address alone says little: some hold a key that changes
    every day. With another title too, it is another torrent."""
    if was.infohash is not None and now.infohash is not None:
        return not was.is_torrent(now.infohash)
    elsewhere = (was.torrent_url, was.magnet) != (now.torrent_url, now.magnet)
    return elsewhere and was.title != now.title


def edition_of(candidate: Candidate) -> Candidate:
    """The same, known by its entry and its torrent."""
    name = candidate.torrent_url or candidate.magnet or candidate.title
    return replace(candidate, edition=candidate.infohash or key_of(name).hex())


def keys_of(offers: Iterable[Offer]) -> list[str]:
    """All that rows of these entries may be known by."""
    return [
        key for offer in offers for key in (offer.candidate.uid, edition_of(offer.candidate).key)
    ]
