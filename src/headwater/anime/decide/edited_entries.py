"""Sort edited entries: which of them are another release now, and are decided again."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from headwater.anime.candidate import Offer, TorrentCandidate
from headwater.anime.decide.decision import ReleaseDecision
from headwater.core.values.ids import index_key

_OPEN_ACTIONS = ("hold", "skip", "removed")
"""Nobody has acted on decisions with these actions: they may change."""


class EditedEntry(NamedTuple):
    """A decision, and the offer that its entry makes now."""

    decision: ReleaseDecision
    offer: Offer


class MovedTorrent(NamedTuple):
    """A decision, and its candidate with the address that the torrent has now."""

    decision: ReleaseDecision
    candidate: TorrentCandidate


@dataclass(slots=True)
class EntryChanges:
    """`fresh` offers were never decided. `edited` entries are decided again, by what they say now.
    `moved` are the same torrents at another address."""

    fresh: list[Offer] = field(default_factory=list)
    edited: list[EditedEntry] = field(default_factory=list)
    moved: list[MovedTorrent] = field(default_factory=list)


def sort_changed_entries(
    offers: Iterable[Offer], decisions: Mapping[str, ReleaseDecision]
) -> EntryChanges:
    """Sort offers by what has changed since they were decided. `decisions` are by the key of their
    candidates.

    An entry whose torrent was wanted keeps its row. Another torrent under the same entry is an
    edition of its own, and is decided once: an entry that is edited to and fro brings nothing
    twice.
    """
    changes = EntryChanges()
    for offer in {each.candidate.uid: each for each in offers}.values():
        _sort_offer(offer, decisions, changes)
    return changes


def _sort_offer(
    offer: Offer, decisions: Mapping[str, ReleaseDecision], changes: EntryChanges
) -> None:
    first = decisions.get(offer.candidate.uid)
    if first is None:
        changes.fresh.append(offer)
        return
    if first.action == "refused":
        return
    if first.action in _OPEN_ACTIONS or not is_another_torrent(first.candidate, offer.candidate):
        _sort_decided_offer(first, offer, changes)
        return
    edition = Offer(with_edition(offer.candidate), offer.release)
    was = decisions.get(edition.candidate.key)
    if was is None:
        changes.fresh.append(edition)
    elif was.action != "refused":
        _sort_decided_offer(was, edition, changes)


def _sort_decided_offer(was: ReleaseDecision, offer: Offer, changes: EntryChanges) -> None:
    before, after = was.candidate, offer.candidate
    if _decisive_fields(before) == _decisive_fields(after):
        return
    if was.action in _OPEN_ACTIONS:
        changes.edited.append(EditedEntry(was, offer))
    elif (before.torrent_url, before.magnet) != (after.torrent_url, after.magnet):
        moved = replace(before, torrent_url=after.torrent_url, magnet=after.magnet)
        changes.moved.append(MovedTorrent(was, moved))


def _decisive_fields(candidate: TorrentCandidate) -> tuple[str | None, ...]:
    """The fields that a decision or a download depends on. Seeders come and go."""
    return candidate.title, candidate.infohash, candidate.torrent_url, candidate.magnet


def is_another_torrent(was: TorrentCandidate, now: TorrentCandidate) -> bool:
    """Compare torrents by their hashes. Without a hash, another address alone does not make another
    torrent: some addresses hold a key that changes every day. Another title as well does."""
    if was.infohash is not None and now.infohash is not None:
        return not was.is_torrent(now.infohash)
    is_elsewhere = (was.torrent_url, was.magnet) != (now.torrent_url, now.magnet)
    return is_elsewhere and was.title != now.title


def with_edition(candidate: TorrentCandidate) -> TorrentCandidate:
    """The same candidate, identified by its torrent as well as by its entry."""
    name = candidate.torrent_url or candidate.magnet or candidate.title
    return replace(candidate, edition=candidate.infohash or index_key(name).hex())


def candidate_keys(offers: Iterable[Offer]) -> list[str]:
    """All keys that rows of these entries may have."""
    return [
        key for offer in offers for key in (offer.candidate.uid, with_edition(offer.candidate).key)
    ]
