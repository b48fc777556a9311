"""Stored JSON of preferences, releases, candidates and slots, encoded for the database and back."""

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
    fields = release_as_json(release)
    fields["titles"] = fields.pop("titles_by_language")
    fields["other_titles"] = list(release.other_titles)
    return encode_json(fields)


def decode_release(text: str) -> Release:
    fields: dict[str, Any] = orjson.loads(text)
    for name in _TUPLES:
        fields[name] = tuple(fields[name])
    for name in _DECIMALS:
        fields[name] = None if fields[name] is None else Decimal(str(fields[name]))
    fields["kind"] = None if fields["kind"] is None else ReleaseKind(fields["kind"])
    fields["subtitles"] = frozenset(map(Subtitle, fields["subtitles"]))
    return Release(**fields)


def encode_candidate(candidate: TorrentCandidate) -> str:
    fields = asdict(candidate)
    for name in ("first_seen", "published"):
        fields[name] = None if fields[name] is None else rfc3339(fields[name])
    return encode_json(fields)


def decode_candidate(text: str) -> TorrentCandidate:
    fields: dict[str, Any] = orjson.loads(text)
    for name in ("first_seen", "published"):
        fields[name] = None if fields[name] is None else datetime.fromisoformat(fields[name])
    fields["doubts"] = tuple(fields["doubts"])
    return TorrentCandidate(**fields)


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
        LostSlots(loss["download"], _slots_from_lists(loss["slots"]), loss["whole"])
        for loss in orjson.loads(text)
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
            else {
                "group": stop.group,
                "subtitles": None if stop.subtitles is None else sorted(stop.subtitles),
            },
        }
    )


def decode_preferences(text: str) -> Preferences:
    fields: dict[str, Any] = orjson.loads(text)
    if (stop := fields["stop"]) is not None:
        subtitles = stop["subtitles"]
        languages = None if subtitles is None else _languages(subtitles)
        stop = StopLine(stop["group"], languages)
    return Preferences(
        groups=tuple(fields["groups"]),
        aliases=fields["aliases"],
        subtitles=tuple(_languages(each) for each in fields["subtitles"]),
        further=tuple(fields["further"]),
        resolutions=tuple(fields["resolutions"]),
        sources=tuple(fields["sources"]),
        stop=stop,
    )


def _languages(codes: Sequence[str]) -> frozenset[Subtitle]:
    return frozenset(map(Subtitle, codes))


def _slots_as_lists(slots: Sequence[Slot]) -> list[list[int | str]]:
    """The number is text, where 12.5 stays exact."""
    return [[slot.season, str(slot.number)] for slot in slots]


def _slots_from_lists(lists: Sequence[Sequence[Any]]) -> tuple[Slot, ...]:
    return tuple(Slot(int(season), Decimal(number)) for season, number in lists)
