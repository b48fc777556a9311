"""Entries that say something else now: which of them are another release, to be decided anew."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from headwater.anime.candidate import Offer, TorrentCandidate
from headwater.anime.decide.decision import ReleaseDecision
from headwater.core.values.ids import index_key

_OPEN_ACTIONS = ("hold", "skip", "removed")
"""Nobody has acted on these: what is decided of them may change."""


@dataclass(slots=True)
class EntryChanges:
    """`fresh` was never looked at. `anew` are rows that are to be decided again, for what their
    entry says now. `moved` are rows of the same torrent, which has another address now."""

    fresh: list[Offer] = field(default_factory=list)
    anew: list[tuple[ReleaseDecision, Offer]] = field(default_factory=list)
    moved: list[tuple[ReleaseDecision, TorrentCandidate]] = field(default_factory=list)


def sort_changed_entries(
    offers: Iterable[Offer], known: Mapping[str, ReleaseDecision]
) -> EntryChanges:
    """`known` are rows by the key of their candidates. An entry whose torrent was wanted keeps its
    row; another torrent under the same entry is an edition of its own, and is decided once. So an
    entry that is edited to and fro brings nothing twice."""
    found = EntryChanges()
    for offer in {each.candidate.uid: each for each in offers}.values():
        _sort_offer(offer, known, found)
    return found


def _sort_offer(offer: Offer, known: Mapping[str, ReleaseDecision], found: EntryChanges) -> None:
    first = known.get(offer.candidate.uid)
    if first is None:
        found.fresh.append(offer)
        return
    if first.action == "refused":
        return
    if first.action in _OPEN_ACTIONS or not is_another_torrent(first.candidate, offer.candidate):
        _sort_known_offer(first, offer, found)
        return
    own = Offer(with_edition(offer.candidate), offer.release)
    was = known.get(own.candidate.key)
    if was is None:
        found.fresh.append(own)
    elif was.action != "refused":
        _sort_known_offer(was, own, found)


def _sort_known_offer(was: ReleaseDecision, offer: Offer, found: EntryChanges) -> None:
    before, after = was.candidate, offer.candidate
    if _decisive_fields(before) == _decisive_fields(after):
        return
    if was.action in _OPEN_ACTIONS:
        found.anew.append((was, offer))
    elif (before.torrent_url, before.magnet) != (after.torrent_url, after.magnet):
        moved = replace(before, torrent_url=after.torrent_url, magnet=after.magnet)
        found.moved.append((was, moved))


def _decisive_fields(candidate: TorrentCandidate) -> tuple[str | None, ...]:
    """What a decision, or a download, could depend on. Seeders come and go."""
    return candidate.title, candidate.infohash, candidate.torrent_url, candidate.magnet


def is_another_torrent(was: TorrentCandidate, now: TorrentCandidate) -> bool:
    """By their hashes. Without these an address alone says little: some hold a key that changes
    every day. With another title too, it is another torrent."""
    if was.infohash is not None and now.infohash is not None:
        return not was.is_torrent(now.infohash)
    elsewhere = (was.torrent_url, was.magnet) != (now.torrent_url, now.magnet)
    return elsewhere and was.title != now.title


def with_edition(candidate: TorrentCandidate) -> TorrentCandidate:
    """The same, known by its entry and its torrent."""
    name = candidate.torrent_url or candidate.magnet or candidate.title
    return replace(candidate, edition=candidate.infohash or index_key(name).hex())


def candidate_keys(offers: Iterable[Offer]) -> list[str]:
    """All that rows of these entries may be known by."""
    return [
        key for offer in offers for key in (offer.candidate.uid, with_edition(offer.candidate).key)
    ]
