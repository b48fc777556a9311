"""Rank releases: whether one is better than another for the same episode, and why, in words."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from headwater.anime.release import Release, Subtitle
from headwater.anime.shows.preferences import (
    FURTHER_RANKS,
    Preferences,
    Rank,
    group_rank,
    groups_of,
    subtitle_rank,
)
from headwater.anime.subtitles import format_subtitles

Order = Literal["better", "equal", "worse"]
"""The rank of a new release beside the one that is held."""

VerdictAction = Literal["fetch", "upgrade", "skip", "hold"]


@dataclass(frozen=True, slots=True)
class OfferVerdict:
    """The verdict on an offer: the action, the rule, and the reason for people."""

    action: VerdictAction
    rule: str
    reason: str

    @property
    def is_wanted(self) -> bool:
        return self.action in ("fetch", "upgrade")


def compare_groups(held: Sequence[str], new: Sequence[str], preferences: Preferences) -> Order:
    return _compare_ranks(group_rank(held, preferences), group_rank(new, preferences))


def compare_subtitles(
    held: frozenset[Subtitle], new: frozenset[Subtitle], preferences: Preferences
) -> Order:
    return _compare_ranks(subtitle_rank(held, preferences), subtitle_rank(new, preferences))


def _compare_ranks(held: int, new: int) -> Order:
    if new == held:
        return "equal"
    return "better" if new < held else "worse"


def compare_releases(held: Release, new: Release, preferences: Preferences) -> tuple[Order, str]:
    """The order, and the rank that decided it: `group`, `subtitles`, a further one, or `none`.

    This is a strict partial order: in whatever sequence releases come, none that was replaced can
    ever be better than the one that took its place.
    """
    order = compare_groups(held.groups, new.groups, preferences)
    if order != "equal":
        return order, "group"
    order = compare_subtitles(held.subtitles, new.subtitles, preferences)
    if order != "equal":
        return order, "subtitles"
    for rank in preferences.further:
        if rank == "version":
            break
        order = _compare_by(rank, held, new, preferences)
        if order != "equal":
            return order, rank
    return _compare_within_group(held, new, preferences)


def _compare_within_group(
    held: Release, new: Release, preferences: Preferences
) -> tuple[Order, str]:
    """The second version of one group is not better than the first of another."""
    further = preferences.further
    ours = groups_of(held.groups, preferences)
    if "version" not in further or not ours or ours != groups_of(new.groups, preferences):
        return "equal", "none"
    for rank in further[further.index("version") + 1 :]:
        order = _compare_by(rank, held, new, preferences)
        if order != "equal":
            return order, rank
    if are_versions_of_same(held, new, preferences):
        order = _compare_by("version", held, new, preferences)
        return order, "none" if order == "equal" else "version"
    return "equal", "none"


def _compare_by(rank: Rank, held: Release, new: Release, preferences: Preferences) -> Order:
    return _compare_ranks(
        FURTHER_RANKS[rank](held, preferences), FURTHER_RANKS[rank](new, preferences)
    )


def are_versions_of_same(one: Release, other: Release, preferences: Preferences) -> bool:
    """Whether two are versions of one release: a v2 in 720p does not mend a first version in
    1080p."""
    return _version_identity(one, preferences) == _version_identity(other, preferences)


def _version_identity(release: Release, preferences: Preferences) -> tuple[object, ...]:
    return (
        groups_of(release.groups, preferences),
        release.subtitles,
        release.resolution,
        release.source,
        release.video_codec,
    )


def preference_key(release: Release, preferences: Preferences) -> tuple[int, ...]:
    """A sort key that never puts a better release behind a worse one."""
    further = preferences.further
    cross = further[: further.index("version")] if "version" in further else further
    within = [rank for rank in further if rank not in cross and rank != "version"]
    last: list[Rank] = ["version"] if "version" in further else []
    return (
        group_rank(release.groups, preferences),
        subtitle_rank(release.subtitles, preferences),
        *(FURTHER_RANKS[rank](release, preferences) for rank in (*cross, *within, *last)),
    )


def is_good_enough(held: Release, preferences: Preferences) -> bool:
    """Whether the held release reaches the stop line."""
    stop = preferences.stop
    if stop is None or (stop.group is None and stop.subtitles is None):
        return False
    if stop.group is not None:
        stop_rank = group_rank((stop.group,), preferences)
        if group_rank(held.groups, preferences) > stop_rank:
            return False
    if stop.subtitles is None:
        return True
    return subtitle_rank(held.subtitles, preferences) <= subtitle_rank(stop.subtitles, preferences)


def decide_upgrade(held: Release, new: Release, preferences: Preferences) -> OfferVerdict:
    """Whether a release takes the place of one that is held for the same episode."""
    order, rank = compare_releases(held, new, preferences)
    if order == "equal":
        return OfferVerdict(
            "skip", "same_rank", f"It is no better: {_same_ranks_in_words(new, preferences)}."
        )
    reason = _IN_WORDS[rank](held, new, preferences)
    if order == "worse":
        return OfferVerdict("skip", rank, f"What is held is better: {reason}.")
    if rank != "version" and is_good_enough(held, preferences):
        return OfferVerdict("skip", "stop_line", f"What is held is good enough, though {reason}.")
    return OfferVerdict("upgrade", rank, f"It is better: {reason}.")


def _same_ranks_in_words(new: Release, preferences: Preferences) -> str:
    group = _position_in_words(group_rank(new.groups, preferences), len(preferences.groups))
    languages = _position_in_words(
        subtitle_rank(new.subtitles, preferences), len(preferences.subtitles)
    )
    return f"its group is {group}, its subtitles are {languages}, as those of what is held"


def _position_in_words(rank: int, listed: int) -> str:
    if rank > listed:
        return "not named"
    return "not in the list" if rank == listed else f"in place {rank + 1}"


def _groups_beside(held: Release, new: Release, preferences: Preferences) -> str:
    listed = len(preferences.groups)
    return _beside(
        "group",
        *(
            (
                " & ".join(one.groups) or "none",
                _position_in_words(group_rank(one.groups, preferences), listed),
            )
            for one in (new, held)
        ),
    )


def _subtitles_beside(held: Release, new: Release, preferences: Preferences) -> str:
    listed = len(preferences.subtitles)
    return _beside(
        "subtitles",
        *(
            (
                format_subtitles(one.subtitles),
                _position_in_words(subtitle_rank(one.subtitles, preferences), listed),
            )
            for one in (new, held)
        ),
    )


def _beside(noun: str, new: tuple[str, str], held: tuple[str, str]) -> str:
    return f"{noun} {new[0]} ({new[1]}) beside {held[0]} ({held[1]})"


def _resolutions_beside(held: Release, new: Release, preferences: Preferences) -> str:
    return f"resolution {new.resolution or 'unnamed'} beside {held.resolution or 'unnamed'}"


def _sources_beside(held: Release, new: Release, preferences: Preferences) -> str:
    return f"source {new.source or 'unnamed'} beside {held.source or 'unnamed'}"


def _versions_beside(held: Release, new: Release, preferences: Preferences) -> str:
    return f"version {new.version or 1} beside {held.version or 1} of the same group"


_IN_WORDS: dict[str, Callable[[Release, Release, Preferences], str]] = {
    "group": _groups_beside,
    "subtitles": _subtitles_beside,
    "resolution": _resolutions_beside,
    "source": _sources_beside,
    "version": _versions_beside,
}
