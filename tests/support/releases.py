"""Releases, candidates and offers for tests, with only what a test speaks of."""

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from headwater.anime.candidate import Offer, TorrentCandidate
from headwater.anime.release import Release, Subtitle
from headwater.anime.shows.slot import Slot

CHS, CHT = Subtitle.SIMPLIFIED, Subtitle.TRADITIONAL
JPN, ENG = Subtitle.JAPANESE, Subtitle.ENGLISH
NOON = datetime(2026, 10, 2, 12, tzinfo=UTC)


def release(*groups: str, **fields: Any) -> Release:
    """Numbers may be given as 12.5 or 3; subtitles as any collection."""
    for name in ("episode", "episode_end", "absolute"):
        if fields.get(name) is not None:
            fields[name] = Decimal(str(fields[name]))
    fields["subtitles"] = frozenset(fields.get("subtitles", ()))
    return Release(groups=groups, **fields)


def slot(number: float, season: int = 1) -> Slot:
    return Slot(season, Decimal(str(number)))


def candidate(uid: str = "one", title: str = "", **fields: Any) -> TorrentCandidate:
    fields.setdefault("first_seen", NOON)
    fields.setdefault("torrent_url", f"https://nyaa.example/{uid}.torrent")
    return TorrentCandidate(uid=uid, title=title or uid, **fields)


def offer(uid: str, meant: Release, **fields: Any) -> Offer:
    return Offer(candidate(uid, **fields), meant)
