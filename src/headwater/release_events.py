"""What is told of releases: found, held back, in the library, upgraded, failed, or missing."""

from collections.abc import Sequence
from typing import Any

from headwater.announce.event import Event
from headwater.collect.decisions.decided import Decided
from headwater.collect.release import plain_number, release_as_json
from headwater.collect.slot import Slot
from headwater.collect.tracking import TrackedShow

_TOLD = ("groups", "version", "kind", "batch", "resolution", "source", "subtitles")


def release_found(feed_id: str, show: TrackedShow, row: Decided) -> Event:
    """It is wanted: an intent is written down."""
    return _about("release_found", feed_id, show, row)


def release_held(feed_id: str, show: TrackedShow, row: Decided) -> Event:
    """A person is to decide: `headwater releases take` or `refuse`."""
    return _about("release_held", feed_id, show, row)


def release_downloaded(
    feed_id: str, show: TrackedShow, row: Decided, infohash: str, files: Sequence[str]
) -> Event:
    """It is in the library; `files` are its paths there."""
    return _about("release_downloaded", feed_id, show, row, infohash=infohash, files=list(files))


def release_upgraded(
    feed_id: str,
    show: TrackedShow,
    row: Decided,
    infohash: str,
    files: Sequence[str],
    replaced: Sequence[str],
) -> Event:
    """It is in the library, and the releases of the titles `replaced` are on their way out."""
    return _about(
        "release_upgraded",
        feed_id,
        show,
        row,
        infohash=infohash,
        files=list(files),
        replaced=list(replaced),
    )


def release_failed(feed_id: str, show: TrackedShow, row: Decided, error: str, detail: str) -> Event:
    """It was given up; `headwater downloads retry` tries again."""
    return _about("release_failed", feed_id, show, row, error=error, detail=detail)


def episode_missing(feed_id: str | None, show: TrackedShow, slot: Slot) -> Event:
    """A later episode is there, and this one is not."""
    return Event("episode_missing", feed_id, _of_show(show) | {"slots": [_slot(slot)]})


def _about(type: str, feed_id: str, show: TrackedShow, row: Decided, **facts: Any) -> Event:
    """No address goes along: that of a torrent may hold somebody's key."""
    said = release_as_json(row.release)
    common = _of_show(show) | {
        "tracking_id": row.tracking_id,
        "release_id": row.id,
        "title": row.candidate.title,
        "entry_uid": row.candidate.uid,
        "infohash": row.candidate.infohash,
        "slots": [_slot(slot) for slot in row.slots],
        "action": row.action,
        "rule": row.rule,
        "reason": row.reason,
    }
    return Event(type, feed_id, common | {name: said[name] for name in _TOLD} | facts)


def _of_show(show: TrackedShow) -> dict[str, Any]:
    return {"show_id": show.id, "show": show.show.title}


def _slot(slot: Slot) -> dict[str, Any]:
    if slot.is_film:
        return {"season": None, "episode": None, "name": str(slot)}
    return {"season": slot.season, "episode": plain_number(slot.number), "name": str(slot)}
