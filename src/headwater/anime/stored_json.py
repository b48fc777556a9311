"""Shows, preferences, releases, candidates and slots as JSON for the database, both ways."""

from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime
from decimal import Decimal
from typing import Any

import orjson

from headwater.anime.candidate import TorrentCandidate
from headwater.anime.downloads.download import LostSlots
from headwater.anime.release import Release, ReleaseKind, Subtitle, release_as_json
from headwater.anime.shows.preferences import Preferences, StopLine
from headwater.anime.shows.slot import Slot
from headwater.core.values.instant import rfc3339

_TUPLES = ("other_titles", "groups", "video_codec", "audio_codec")
_DECIMALS = ("episode", "episode_end", "absolute")


def encode_json(value: Any) -> str:
    return orjson.dumps(value).decode()


def encode_release(release: Release) -> str:
    said = release_as_json(release)
    said["titles"] = said.pop("titles_by_language")
    said["other_titles"] = list(release.other_titles)
    return encode_json(said)


def decode_release(text: str) -> Release:
    said: dict[str, Any] = orjson.loads(text)
    for name in _TUPLES:
        said[name] = tuple(said[name])
    for name in _DECIMALS:
        said[name] = None if said[name] is None else Decimal(str(said[name]))
    said["kind"] = None if said["kind"] is None else ReleaseKind(said["kind"])
    said["subtitles"] = frozenset(map(Subtitle, said["subtitles"]))
    return Release(**said)


def encode_candidate(candidate: TorrentCandidate) -> str:
    said = asdict(candidate)
    for name in ("first_seen", "published"):
        said[name] = None if said[name] is None else rfc3339(said[name])
    return encode_json(said)


def decode_candidate(text: str) -> TorrentCandidate:
    said: dict[str, Any] = orjson.loads(text)
    for name in ("first_seen", "published"):
        said[name] = None if said[name] is None else datetime.fromisoformat(said[name])
    said["doubts"] = tuple(said["doubts"])
    return TorrentCandidate(**said)


def encode_slots(slots: Sequence[Slot]) -> str:
    return encode_json(_slots_as_lists(slots))


def decode_slots(text: str) -> tuple[Slot, ...]:
    return _slots_from_lists(orjson.loads(text))


def encode_lost_slots(losses: Sequence[LostSlots]) -> str:
    return encode_json(
        [
            {
                "download": loss.download_id,
                "slots": _slots_as_lists(loss.slots),
                "whole": loss.is_whole,
            }
            for loss in losses
        ]
    )


def decode_lost_slots(text: str) -> tuple[LostSlots, ...]:
    return tuple(
        LostSlots(said["download"], _slots_from_lists(said["slots"]), said["whole"])
        for said in orjson.loads(text)
    )


def encode_preferences(preferences: Preferences) -> str:
    stop = preferences.stop
    return encode_json(
        {
            "groups": preferences.groups,
            "aliases": dict(preferences.aliases),
            "subtitles": [sorted(each) for each in preferences.subtitles],
            "further": preferences.further,
            "resolutions": preferences.resolutions,
            "sources": preferences.sources,
            "stop": None
            if stop is None
            else {"group": stop.group, "subtitles": _stop_subtitles(stop)},
        }
    )


def decode_preferences(text: str) -> Preferences:
    said: dict[str, Any] = orjson.loads(text)
    return Preferences(
        groups=tuple(said["groups"]),
        aliases=said["aliases"],
        subtitles=tuple(_languages(each) for each in said["subtitles"]),
        further=tuple(said["further"]),
        resolutions=tuple(said["resolutions"]),
        sources=tuple(said["sources"]),
        stop=_stop_line(said["stop"]),
    )


def _stop_subtitles(stop: StopLine) -> list[str] | None:
    return None if stop.subtitles is None else sorted(stop.subtitles)


def _stop_line(said: dict[str, Any] | None) -> StopLine | None:
    if said is None:
        return None
    subtitles = said["subtitles"]
    return StopLine(said["group"], None if subtitles is None else _languages(subtitles))


def _languages(codes: Sequence[str]) -> frozenset[Subtitle]:
    return frozenset(map(Subtitle, codes))


def _slots_as_lists(slots: Sequence[Slot]) -> list[list[int | str]]:
    """The number as text: 12.5 is exact there."""
    return [[slot.season, str(slot.number)] for slot in slots]


def _slots_from_lists(said: Sequence[Sequence[Any]]) -> tuple[Slot, ...]:
    return tuple(Slot(int(season), Decimal(number)) for season, number in said)
