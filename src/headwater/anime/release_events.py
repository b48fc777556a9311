"""What is told of releases: found, held back, in the library, upgraded, failed, or missing."""

from collections.abc import Sequence
from typing import Any

from headwater.anime.decide.decision import ReleaseDecision
from headwater.anime.release import plain_number, release_as_json
from headwater.anime.shows.show import TrackedShow
from headwater.anime.shows.slot import Slot
from headwater.events.event import Event

_RELEASE_FIELDS = ("groups", "version", "kind", "batch", "resolution", "source", "subtitles")


def release_found(feed_id: str, show: TrackedShow, row: ReleaseDecision) -> Event:
    """It is wanted: an intent is written down."""
    return _about("release_found", feed_id, show, row, f"is wanted. {row.reason}")


def release_held(feed_id: str, show: TrackedShow, row: ReleaseDecision) -> Event:
    """A person is to decide: `headwater releases take` or `refuse`."""
    return _about("release_held", feed_id, show, row, f"waits for a person. {row.reason}")


def release_downloaded(
    feed_id: str, show: TrackedShow, row: ReleaseDecision, infohash: str, files: Sequence[str]
) -> Event:
    """It is in the library; `files` are its paths there."""
    said = "is in the library."
    return _about(
        "release_downloaded", feed_id, show, row, said, infohash=infohash, files=list(files)
    )


def release_upgraded(
    feed_id: str,
    show: TrackedShow,
    row: ReleaseDecision,
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
        f"is in the library, in place of {_listed(replaced)}.",
        infohash=infohash,
        files=list(files),
        replaced=list(replaced),
    )


def release_failed(
    feed_id: str, show: TrackedShow, row: ReleaseDecision, error: str, detail: str
) -> Event:
    """It was given up; `headwater downloads retry` tries again."""
    said = f"could not be downloaded. {detail}"
    return _about("release_failed", feed_id, show, row, said, error=error, detail=detail)


def episode_missing(feed_id: str | None, show: TrackedShow, slot: Slot) -> Event:
    """A later episode is there, and this one is not."""
    text = f"{show.show.title} {slot} is missing, and a later episode is there."
    facts = _of_show(show) | {"slots": [_slot(slot)], "text": text}
    return Event("episode_missing", feed_id, facts)


def _about(
    type: str, feed_id: str, show: TrackedShow, row: ReleaseDecision, what: str, **facts: Any
) -> Event:
    """No address goes along: that of a torrent may hold somebody's key. `what` became of it, for
    people: `text` is a line that can be shown as it is."""
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
        "text": f"{_named(show, row)}: {row.candidate.title} {what}",
    }
    return Event(type, feed_id, common | {name: said[name] for name in _RELEASE_FIELDS} | facts)


def _named(show: TrackedShow, row: ReleaseDecision) -> str:
    title = show.show.title
    if not row.slots or row.slots[0].is_film:
        return title
    first, last = min(row.slots), max(row.slots)
    return f"{title} {first}" if first == last else f"{title} {first} to {last}"


def _listed(titles: Sequence[str]) -> str:
    return titles[0] if len(titles) == 1 else f"{len(titles)} releases"


def _of_show(show: TrackedShow) -> dict[str, Any]:
    return {"show_id": show.id, "show": show.show.title}


def _slot(slot: Slot) -> dict[str, Any]:
    if slot.is_film:
        return {"season": None, "episode": None, "name": str(slot)}
    return {"season": slot.season, "episode": plain_number(slot.number), "name": str(slot)}
