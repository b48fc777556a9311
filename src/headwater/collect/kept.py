"""Shows, preferences, releases, candidates and slots as JSON for the database, both ways."""

from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime
from decimal import Decimal
from typing import Any

import orjson

from headwater.collect.candidate import Candidate
from headwater.collect.download import Loss
from headwater.collect.priority import Preferences, StopLine
from headwater.collect.release import Kind, Release, Subtitle, release_as_json
from headwater.collect.slot import Slot
from headwater.values.instant import rfc3339

_TUPLES = ("other_titles", "groups", "video_codec", "audio_codec")
_DECIMALS = ("episode", "episode_end", "absolute")


def json_of(value: Any) -> str:
    return orjson.dumps(value).decode()


def release_json(release: Release) -> str:
    said = release_as_json(release)
    said["titles"] = said.pop("titles_by_language")
    said["other_titles"] = list(release.other_titles)
    return json_of(said)


def release_of(text: str) -> Release:
    said: dict[str, Any] = orjson.loads(text)
    for name in _TUPLES:
        said[name] = tuple(said[name])
    for name in _DECIMALS:
        said[name] = None if said[name] is None else Decimal(str(said[name]))
    said["kind"] = None if said["kind"] is None else Kind(said["kind"])
    said["subtitles"] = frozenset(map(Subtitle, said["subtitles"]))
    return Release(**said)


def candidate_json(candidate: Candidate) -> str:
    said = asdict(candidate)
    for name in ("first_seen", "published"):
        said[name] = None if said[name] is None else rfc3339(said[name])
    return json_of(said)


def candidate_of(text: str) -> Candidate:
    said: dict[str, Any] = orjson.loads(text)
    for name in ("first_seen", "published"):
        said[name] = None if said[name] is None else datetime.fromisoformat(said[name])
    said["doubts"] = tuple(said["doubts"])
    return Candidate(**said)


def slots_json(slots: Sequence[Slot]) -> str:
    return json_of(_written(slots))


def slots_of(text: str) -> tuple[Slot, ...]:
    return _read(orjson.loads(text))


def losses_json(losses: Sequence[Loss]) -> str:
    return json_of(
        [
            {"download": loss.download_id, "slots": _written(loss.slots), "whole": loss.is_whole}
            for loss in losses
        ]
    )


def losses_of(text: str) -> tuple[Loss, ...]:
    return tuple(
        Loss(said["download"], _read(said["slots"]), said["whole"]) for said in orjson.loads(text)
    )


def preferences_json(preferences: Preferences) -> str:
    stop = preferences.stop
    return json_of(
        {
            "groups": preferences.groups,
            "aliases": dict(preferences.aliases),
            "subtitles": [sorted(each) for each in preferences.subtitles],
            "further": preferences.further,
            "resolutions": preferences.resolutions,
            "sources": preferences.sources,
            "stop": None if stop is None else {"group": stop.group, "subtitles": _line(stop)},
        }
    )


def preferences_of(text: str) -> Preferences:
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


def _line(stop: StopLine) -> list[str] | None:
    return None if stop.subtitles is None else sorted(stop.subtitles)


def _stop_line(said: dict[str, Any] | None) -> StopLine | None:
    if said is None:
        return None
    subtitles = said["subtitles"]
    return StopLine(said["group"], None if subtitles is None else _languages(subtitles))


def _languages(codes: Sequence[str]) -> frozenset[Subtitle]:
    return frozenset(map(Subtitle, codes))


def _written(slots: Sequence[Slot]) -> list[list[int | str]]:
    """The number as text: 12.5 is exact there."""
    return [[slot.season, str(slot.number)] for slot in slots]


def _read(said: Sequence[Sequence[Any]]) -> tuple[Slot, ...]:
    return tuple(Slot(int(season), Decimal(number)) for season, number in said)
