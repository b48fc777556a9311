"""What a feed is about, by its own title and those of its releases: a show, with reasons."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta, timezone
from decimal import Decimal

from headwater.anime.candidate import Offer
from headwater.anime.release import Release, ReleaseKind
from headwater.anime.shows.show import LONGEST_TITLE, Show
from headwater.anime.shows.slot import EXTRAS, comparable_names, comparable_title
from headwater.anime.title import read_title

MOST_NAMES = 12
MOST_SHOWS = 200
NEWEST = 20
"""Of so many releases the season is taken: older ones may be of an earlier one."""

_SHARE = 0.8
"""A feed is of one show when so much of it is; the rest is told apart by titles."""

_JAPAN_TIME = timezone(timedelta(hours=9))
_ONE_SHOW = re.compile(r"Mikan Project - (.+)", re.DOTALL)
_SEARCH = re.compile(r"Nyaa - (.+) - Torrent File RSS", re.DOTALL)
_NO_SHOW = frozenset({"我的番组", "我的番組", "列表模式", "Home"})
_SEARCH_PREFIXES = ("搜索结果", "搜尋結果", "搜索結果")
"""What was looked for may be of many shows."""
_ROMAN = re.compile(r"\s*[\u2160-\u216b](?=\s|$|[\u3000-\u303f~～])")


@dataclass(frozen=True, slots=True)
class Proposal:
    """`show` is None where the feed is of many shows or of none: a person must say which.

    `because` has a reason for each field that was not simply the usual one. `groups` and `titles`
    are what was found, with how many releases, the most first. `shows` are all shows of the feed,
    as each would be proposed by itself, where it is of several. Of all `releases`, `of_show` are of
    the one that is proposed.
    """

    show: Show | None
    because: Mapping[str, str] = field(default_factory=dict)
    groups: Mapping[str, int] = field(default_factory=dict)
    titles: Mapping[str, int] = field(default_factory=dict)
    releases: int = 0
    shows: tuple[Show, ...] = ()
    of_show: int = 0


def propose_show(
    feed_title: str | None, offers: Iterable[Offer], wanted: str | None = None
) -> Proposal:
    """`wanted` is the title that a person gave, where they did: then only its releases count."""
    named = [each for each in offers if comparable_names(each.release)]
    clusters = _clusters(named)
    titles = dict(Counter(each.release.title or "" for each in named).most_common(MOST_NAMES))
    about = _parse_feed_title(feed_title)
    chosen, why = _choose_releases(clusters, about, wanted)
    title = wanted or _title(chosen, about if why == _BY_FEED else None)
    if title is None:
        shows = tuple(_show_of_cluster(some) for some in clusters[:MOST_SHOWS])
        return Proposal(None, {}, _groups(named), titles, len(named), shows)
    is_alone = why == _BY_FEED and about is not None and about.is_curated
    names = () if is_alone else _names(chosen, title)
    show, because = _build_show(title, names, chosen, about if why == _BY_FEED else None)
    because = {"title": "It was given." if wanted else why} | because
    return Proposal(show, because, _groups(chosen), titles, len(named), of_show=len(chosen))


def _show_of_cluster(some: Sequence[Offer]) -> Show:
    title = _title(some, None) or ""
    return _build_show(title, _names(some, title), some, None)[0]


_BY_FEED = "The feed is called so."
_BY_RELEASES = "Its releases are called so."


@dataclass(frozen=True, slots=True)
class _FeedTitle:
    """What a feed's own title says. `is_curated`: its site lists one show and nothing else."""

    title: str
    season: int | None
    is_curated: bool


def _parse_feed_title(feed_title: str | None) -> _FeedTitle | None:
    given = (feed_title or "").strip()
    curated = _ONE_SHOW.fullmatch(given)
    search = _SEARCH.fullmatch(given)
    found = curated or search
    text = found[1].strip().strip('"') if found else given
    if text.startswith(_SEARCH_PREFIXES):
        return None
    read = read_title(text).release
    title = (read.title or text)[:LONGEST_TITLE].strip()
    if not title or title in _NO_SHOW:
        return None
    return _FeedTitle(title, read.season, curated is not None)


def _clusters(offers: Sequence[Offer]) -> list[list[Offer]]:
    """Releases that share a name are of one show, the largest number first."""
    above: dict[str, str] = {}

    def top(name: str) -> str:
        while above[name] != name:
            above[name] = above[above[name]]
            name = above[name]
        return name

    for offer in offers:
        first, *others = (above.setdefault(name, name) for name in comparable_names(offer.release))
        for other in others:
            above[top(other)] = top(first)
    members: dict[str, list[Offer]] = {}
    for offer in offers:
        members.setdefault(top(comparable_names(offer.release)[0]), []).append(offer)
    return sorted(members.values(), key=len, reverse=True)


def _choose_releases(
    clusters: Sequence[list[Offer]], about: _FeedTitle | None, wanted: str | None
) -> tuple[list[Offer], str]:
    """The releases that the show has, and how that is known."""
    if wanted is not None:
        return [each for some in clusters if _is_called(some, wanted) for each in some], ""
    total = sum(map(len, clusters))
    if about is not None:
        fitting = [each for some in clusters if _is_called(some, about.title) for each in some]
        if clusters and about.is_curated:
            return [each for some in clusters for each in some], _BY_FEED
        if fitting and len(fitting) >= _SHARE * total:
            return fitting, _BY_FEED
    if clusters and len(clusters[0]) >= _SHARE * total:
        return clusters[0], _BY_RELEASES
    return [], ""


def _is_called(some: Iterable[Offer], title: str) -> bool:
    wanted = comparable_title(title)
    if not wanted:
        return False
    return any(
        wanted in name or name in wanted for each in some for name in comparable_names(each.release)
    )


def _title(chosen: Sequence[Offer], about: _FeedTitle | None) -> str | None:
    if not chosen:
        return None
    if about is not None:
        return " ".join(_ROMAN.sub(" ", about.title).split()) or about.title
    ((title, _),) = Counter(each.release.title or "" for each in chosen).most_common(1)
    return title[:LONGEST_TITLE] or None


def _names(chosen: Sequence[Offer], title: str) -> tuple[str, ...]:
    """What its releases are called, the most usual first, each spelling once."""
    spelled: Counter[str] = Counter()
    for each in chosen:
        spelled.update(name for name in each.release.single_names if comparable_title(name))
    by_letters = {comparable_title(title): title}
    for name, _ in spelled.most_common():
        by_letters.setdefault(comparable_title(name), name[:LONGEST_TITLE])
    return tuple(by_letters.values())[:MOST_NAMES]


def _build_show(
    title: str, names: tuple[str, ...], chosen: Sequence[Offer], about: _FeedTitle | None
) -> tuple[Show, dict[str, str]]:
    because: dict[str, str] = {}
    season = _season(chosen, about, because)
    show = Show(
        title=title,
        year=_year(chosen, season, because),
        season=season,
        episode_offset=_offset(chosen, because),
        episodes=_episodes(chosen, because),
        titles=names,
        main_kind=_main_kind(chosen, because),
    )
    if names:
        because["titles"] = "Only releases of these names are of this show."
    return show, because


def _season(chosen: Sequence[Offer], about: _FeedTitle | None, because: dict[str, str]) -> int:
    """Most titles leave out the season; a few that name one are to be believed."""
    newest = sorted(chosen, key=lambda each: each.candidate.moment, reverse=True)[:NEWEST]
    said = Counter(
        each.release.season for each in newest if each.release.season and not each.release.batch
    )
    if said and 4 * said.total() >= len(newest):
        ((season, many),) = said.most_common(1)
        because["season"] = f"{many} of the {len(newest)} newest releases say so."
        return season or 1
    if about is not None and about.season is not None:
        because["season"] = _BY_FEED
        return about.season
    return 1


def _year(chosen: Sequence[Offer], season: int, because: dict[str, str]) -> int | None:
    """The year in the titles, or that of the first episode: later seasons keep the first's."""
    years = Counter(each.release.year for each in chosen if each.release.year)
    if years:
        ((year, many),) = years.most_common(1)
        because["year"] = f"{many} of its releases say so."
        return year
    first = [each for each in chosen if each.release.episode in (Decimal(0), Decimal(1))]
    dated = [each.candidate.published for each in first if each.candidate.published]
    if season != 1 or not dated:
        return None
    because["year"] = "Its first episode came out then."
    return min(dated).astimezone(_JAPAN_TIME).year


def _offset(chosen: Sequence[Offer], because: dict[str, str]) -> int:
    """Where titles have both numbers, such as 01(45), and all of them agree."""
    moved = {
        each.release.episode - each.release.absolute
        for each in chosen
        if each.release.episode is not None and each.release.absolute is not None
    }
    if len(moved) != 1:
        return 0
    (offset,) = moved
    if offset % 1 or not offset:
        return 0
    because["episode_offset"] = "Its titles have both numbers."
    return int(offset)


def _episodes(chosen: Sequence[Offer], because: dict[str, str]) -> int | None:
    """By the mark of the last episode, where no title goes beyond it."""
    singles = [each.release for each in chosen if _is_plain_episode(each.release)]
    final = {each.episode for each in singles if each.final and each.episode}
    if len(final) != 1:
        return None
    (last,) = final
    if last % 1 or any(each.episode and each.episode > last for each in singles):
        return None
    because["episodes"] = "A title says that it is the last one."
    return int(last)


def _is_plain_episode(release: Release) -> bool:
    return release.kind in (None, ReleaseKind.TV, ReleaseKind.ONA) and release.episode_end is None


def _main_kind(chosen: Sequence[Offer], because: dict[str, str]) -> ReleaseKind | None:
    kinds = {each.release.kind for each in chosen if each.release.kind not in EXTRAS}
    if len(kinds) != 1:
        return None
    (kind,) = kinds
    if kind not in (ReleaseKind.MOVIE, ReleaseKind.OVA, ReleaseKind.OAD):
        return None
    because["kind"] = f"All of its releases are {kind}."
    return kind


def _groups(offers: Iterable[Offer]) -> dict[str, int]:
    counted = Counter(group for each in offers for group in each.release.groups)
    return dict(counted.most_common(MOST_NAMES))
