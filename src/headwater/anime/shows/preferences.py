"""What a person prefers: groups, subtitles and further ranks, each as a number to compare."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal
from unicodedata import normalize

from headwater.anime.release import Release, Subtitle
from headwater.anime.subtitles import format_subtitles
from headwater.core.errors import BadInput

Rank = Literal["resolution", "source", "version"]
RANKS: tuple[Rank, ...] = ("resolution", "source", "version")

MOST_NAMES = 64
LONGEST_NAME = 200

DEFAULT_SUBTITLES = (
    frozenset({Subtitle.SIMPLIFIED, Subtitle.JAPANESE}),
    frozenset({Subtitle.SIMPLIFIED}),
    frozenset({Subtitle.TRADITIONAL, Subtitle.JAPANESE}),
    frozenset({Subtitle.TRADITIONAL}),
)
"""简日, 简, 繁日, 繁."""


@dataclass(frozen=True, slots=True)
class StopLine:
    """Good enough: what is held and reaches both is not looked at again, but for its own v2."""

    group: str | None = None
    subtitles: frozenset[Subtitle] | None = None


@dataclass(frozen=True, slots=True)
class Preferences:
    """In each list the first is the best. `aliases` are other names of groups.

    `further` are compared in this order when group and subtitles are equal. What stands after
    `version` is compared within one group only, as versions are: otherwise three releases could
    replace each other in a circle.
    """

    groups: tuple[str, ...] = ()
    aliases: Mapping[str, str] = field(default_factory=dict)
    subtitles: tuple[frozenset[Subtitle], ...] = DEFAULT_SUBTITLES
    further: tuple[Rank, ...] = ("version",)
    resolutions: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    stop: StopLine | None = None


def check_preferences(given: Preferences) -> Preferences:
    """BadInput for lists that contradict themselves."""
    for name, listed in (
        ("groups", [comparable_group(group) for group in given.groups]),
        ("subtitles", list(given.subtitles)),
        ("further", list(given.further)),
        ("resolutions", [word.casefold() for word in given.resolutions]),
        ("sources", [word.casefold() for word in given.sources]),
    ):
        if len(listed) > MOST_NAMES:
            raise BadInput(f"The list of {name} has more than {MOST_NAMES} places.", list=name)
        if len(set(listed)) < len(listed):
            raise BadInput(f"The list of {name} has a place twice.", list=name)
    if unknown := [rank for rank in given.further if rank not in RANKS]:
        raise BadInput(f"Further ranks are {', '.join(RANKS)}.", unknown=unknown)
    for group in given.groups:
        if not group.strip() or len(group) > LONGEST_NAME:
            raise BadInput(f"A group's name has 1 to {LONGEST_NAME} characters.", group=group)
    _check_stop(given)
    return given


def _check_stop(given: Preferences) -> None:
    stop = given.stop
    if stop is None:
        return
    if stop.group is not None and group_rank((stop.group,), given) >= len(given.groups):
        raise BadInput("The stop line names a group that is not in the list.", group=stop.group)
    if stop.subtitles is not None and stop.subtitles not in given.subtitles:
        named = format_subtitles(stop.subtitles)
        raise BadInput("The stop line names subtitles that are not in the list.", subtitles=named)


def comparable_group(name: str) -> str:
    """A group's name to compare: neither case nor width nor spaces count."""
    return "".join(normalize("NFKC", name).casefold().split())


def groups_of(release_groups: Iterable[str], preferences: Preferences) -> frozenset[str]:
    """Who they are, whatever they call themselves."""
    real = {
        comparable_group(alias): comparable_group(name)
        for alias, name in preferences.aliases.items()
    }
    names = (comparable_group(group) for group in release_groups)
    return frozenset(real.get(name, name) for name in names if name)


def group_rank(release_groups: Sequence[str], preferences: Preferences) -> int:
    """The best place any of them has; then all that are not listed; then nobody."""
    ours = groups_of(release_groups, preferences)
    listed = [groups_of((name,), preferences) for name in preferences.groups]
    best = next((place for place, name in enumerate(listed) if name & ours), len(listed))
    return best if ours else len(listed) + 1


def subtitle_rank(subtitles: frozenset[Subtitle], preferences: Preferences) -> int:
    """The place of exactly these languages, in whatever order; then all that are not listed."""
    listed = preferences.subtitles
    return listed.index(subtitles) if subtitles in listed else len(listed)


def resolution_rank(release: Release, preferences: Preferences) -> int:
    """By the user's list; without one, more lines are better and an unnamed size is last."""
    if preferences.resolutions:
        return _place_in(release.resolution, preferences.resolutions)
    lines = re.match(r"\d{3,4}", release.resolution or "")
    return -int(lines[0]) if lines else 0


def source_rank(release: Release, preferences: Preferences) -> int:
    """By the user's list alone: nobody can say for all which source is better."""
    return _place_in(release.source, preferences.sources)


def _place_in(word: str | None, listed: Sequence[str]) -> int:
    places = [name.casefold() for name in listed]
    known = word is not None and word.casefold() in places
    return places.index((word or "").casefold()) if known else len(places)


def version_rank(release: Release, preferences: Preferences) -> int:
    """A higher version is better; a title without one is the first."""
    return -(1 if release.version is None else release.version)


FURTHER_RANKS: Mapping[Rank, Callable[[Release, Preferences], int]] = {
    "resolution": resolution_rank,
    "source": source_rank,
    "version": version_rank,
}
