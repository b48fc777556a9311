"""Events of releases: found, held, downloaded, upgraded or failed; and of missing episodes."""

from collections.abc import Sequence
from typing import Any

from headwater.anime.decide.decision import ReleaseDecision
from headwater.anime.release import plain_number, release_as_json
from headwater.anime.shows.show import TrackedShow
from headwater.anime.shows.slot import Slot
from headwater.events.event import Event

_RELEASE_FIELDS = ("groups", "version", "kind", "batch", "resolution", "source", "subtitles")


def release_found(feed_id: str, show: TrackedShow, row: ReleaseDecision) -> Event:
    """The release will be downloaded: the intent is written down."""
    return _release_event("release_found", feed_id, show, row, f"is wanted. {row.reason}")


def release_held(feed_id: str, show: TrackedShow, row: ReleaseDecision) -> Event:
    """The release waits until a person decides: `headwater releases take` or `refuse`."""
    return _release_event("release_held", feed_id, show, row, f"waits for a person. {row.reason}")


def release_downloaded(
    feed_id: str, show: TrackedShow, row: ReleaseDecision, infohash: str, files: Sequence[str]
) -> Event:
    """The release is in the library; `files` are its paths there."""
    return _release_event(
        "release_downloaded",
        feed_id,
        show,
        row,
        "is in the library.",
        infohash=infohash,
        files=list(files),
    )


def release_upgraded(
    feed_id: str,
    show: TrackedShow,
    row: ReleaseDecision,
    infohash: str,
    files: Sequence[str],
    replaced: Sequence[str],
) -> Event:
    """The release is in the library, and those of the titles `replaced` are being removed."""
    others = replaced[0] if len(replaced) == 1 else f"{len(replaced)} releases"
    return _release_event(
        "release_upgraded",
        feed_id,
        show,
        row,
        f"is in the library, in place of {others}.",
        infohash=infohash,
        files=list(files),
        replaced=list(replaced),
    )


def release_failed(
    feed_id: str, show: TrackedShow, row: ReleaseDecision, error: str, detail: str
) -> Event:
    """The download was given up; `headwater downloads retry` tries again."""
    outcome = f"could not be downloaded. {detail}"
    return _release_event("release_failed", feed_id, show, row, outcome, error=error, detail=detail)


def episode_missing(feed_id: str | None, show: TrackedShow, slot: Slot) -> Event:
    """A later episode is here or coming, and this one is not."""
    text = f"{show.show.title} {slot} is missing, and a later episode is there."
    facts = _show_facts(show) | {"slots": [_slot(slot)], "text": text}
    return Event("episode_missing", feed_id, facts)


def _release_event(
    type: str, feed_id: str, show: TrackedShow, row: ReleaseDecision, outcome: str, **facts: Any
) -> Event:
    """No address goes along: that of a torrent may hold somebody's key. `outcome` ends the `text`,
    a line that can be shown to people as it is."""
    fields = release_as_json(row.release)
    common = _show_facts(show) | {
        "tracking_id": row.tracking_id,
        "release_id": row.id,
        "title": row.candidate.title,
        "entry_uid": row.candidate.uid,
        "infohash": row.candidate.infohash,
        "slots": [_slot(slot) for slot in row.slots],
        "action": row.action,
        "rule": row.rule,
        "reason": row.reason,
        "text": f"{_format_place(show, row)}: {row.candidate.title} {outcome}",
    }
    return Event(type, feed_id, common | {name: fields[name] for name in _RELEASE_FIELDS} | facts)


def _format_place(show: TrackedShow, row: ReleaseDecision) -> str:
    title = show.show.title
    if not row.slots or row.slots[0].is_film:
        return title
    first, last = min(row.slots), max(row.slots)
    return f"{title} {first}" if first == last else f"{title} {first} to {last}"


def _show_facts(show: TrackedShow) -> dict[str, Any]:
    return {"show_id": show.id, "show": show.show.title}


def _slot(slot: Slot) -> dict[str, Any]:
    if slot.is_film:
        return {"season": None, "episode": None, "name": str(slot)}
    return {"season": slot.season, "episode": plain_number(slot.number), "name": str(slot)}
