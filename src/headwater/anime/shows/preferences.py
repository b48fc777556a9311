"""Preferences of a person for groups, subtitles and further ranks; each rank is a number."""

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
    """Good enough: a held release that reaches both is replaced only by its own v2."""

    group: str | None = None
    subtitles: frozenset[Subtitle] | None = None

    @property
    def subtitles_name(self) -> str | None:
        return None if self.subtitles is None else format_subtitles(self.subtitles)


@dataclass(frozen=True, slots=True)
class Preferences:
    """In each list the first is the best. `aliases` are other names of groups.

    `further` ranks are compared in this order when group and subtitles are equal. Ranks after
    `version` are compared within one group only, as versions are: otherwise three releases could
    replace each other in a circle.
    """

    groups: tuple[str, ...] = ()
    aliases: Mapping[str, str] = field(default_factory=dict)
    subtitles: tuple[frozenset[Subtitle], ...] = DEFAULT_SUBTITLES
    further: tuple[Rank, ...] = ("version",)
    resolutions: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    stop: StopLine | None = None

    @property
    def subtitle_names(self) -> list[str]:
        return [format_subtitles(languages) for languages in self.subtitles]


def check_preferences(preferences: Preferences) -> Preferences:
    """BadInput for lists that contradict themselves."""
    for name, listed in (
        ("groups", [comparable_group(group) for group in preferences.groups]),
        ("subtitles", list(preferences.subtitles)),
        ("further", list(preferences.further)),
        ("resolutions", [word.casefold() for word in preferences.resolutions]),
        ("sources", [word.casefold() for word in preferences.sources]),
    ):
        if len(listed) > MOST_NAMES:
            raise BadInput(f"The list of {name} has more than {MOST_NAMES} places.", list=name)
        if len(set(listed)) < len(listed):
            raise BadInput(f"The list of {name} has a place twice.", list=name)
    if unknown := [rank for rank in preferences.further if rank not in RANKS]:
        raise BadInput(f"Further ranks are {', '.join(RANKS)}.", unknown=unknown)
    for group in preferences.groups:
        if not group.strip() or len(group) > LONGEST_NAME:
            raise BadInput(f"A group's name has 1 to {LONGEST_NAME} characters.", group=group)
    if (stop := preferences.stop) is not None:
        _check_stop_line(stop, preferences)
    return preferences


def _check_stop_line(stop: StopLine, preferences: Preferences) -> None:
    if stop.group is not None and group_rank((stop.group,), preferences) >= len(preferences.groups):
        raise BadInput("The stop line names a group that is not in the list.", group=stop.group)
    if stop.subtitles is not None and stop.subtitles not in preferences.subtitles:
        named = format_subtitles(stop.subtitles)
        raise BadInput("The stop line names subtitles that are not in the list.", subtitles=named)


def comparable_group(name: str) -> str:
    """A group's name for comparing, without case, width and spaces."""
    return "".join(normalize("NFKC", name).casefold().split())


def groups_of(release_groups: Iterable[str], preferences: Preferences) -> frozenset[str]:
    """The groups' names for comparing, with aliases replaced."""
    real = {
        comparable_group(alias): comparable_group(name)
        for alias, name in preferences.aliases.items()
    }
    names = (comparable_group(group) for group in release_groups)
    return frozenset(real.get(name, name) for name in names if name)


def group_rank(release_groups: Sequence[str], preferences: Preferences) -> int:
    """The best place of any of the groups; then groups that are not listed; then no group."""
    ours = groups_of(release_groups, preferences)
    listed = [groups_of((name,), preferences) for name in preferences.groups]
    best = next((place for place, name in enumerate(listed) if name & ours), len(listed))
    return best if ours else len(listed) + 1


def subtitle_rank(subtitles: frozenset[Subtitle], preferences: Preferences) -> int:
    """The place of exactly these languages, in any order; then all that are not listed."""
    listed = preferences.subtitles
    return listed.index(subtitles) if subtitles in listed else len(listed)


def resolution_rank(release: Release, preferences: Preferences) -> int:
    """The place in the user's list. Without a list more lines are better, and none is last."""
    if preferences.resolutions:
        return _place_in(release.resolution, preferences.resolutions)
    lines = re.match(r"\d{3,4}", release.resolution or "")
    return -int(lines[0]) if lines else 0


def source_rank(release: Release, preferences: Preferences) -> int:
    """The place in the user's list alone: which source is better is a matter of taste."""
    return _place_in(release.source, preferences.sources)


def _place_in(word: str | None, listed: Sequence[str]) -> int:
    places = [name.casefold() for name in listed]
    folded = "" if word is None else word.casefold()
    return places.index(folded) if word is not None and folded in places else len(places)


def version_rank(release: Release, preferences: Preferences) -> int:
    """A higher version is better; a title without a version is version 1."""
    return -(1 if release.version is None else release.version)


FURTHER_RANKS: Mapping[Rank, Callable[[Release, Preferences], int]] = {
    "resolution": resolution_rank,
    "source": source_rank,
    "version": version_rank,
}
