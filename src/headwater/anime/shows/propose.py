"""Propose the show of a feed, with reasons, from the feed's title and those of its releases."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta, timezone
from decimal import Decimal

from headwater.anime.candidate import Offer
from headwater.anime.release import ReleaseKind
from headwater.anime.shows.show import LONGEST_TITLE, Show
from headwater.anime.shows.slot import EXTRAS, comparable_names, comparable_title
from headwater.anime.title import read_title

MOST_NAMES = 12
MOST_SHOWS = 200
NEWEST = 20
"""The season is read from so many releases: older ones may belong to an earlier season."""

_SHARE = 0.8
"""A feed is of one show when so much of it is; titles tell the rest apart."""

_JAPAN_TIME = timezone(timedelta(hours=9))
_ONE_SHOW = re.compile(r"Mikan Project - (.+)", re.DOTALL)
_SEARCH = re.compile(r"Nyaa - (.+) - Torrent File RSS", re.DOTALL)
_NO_SHOW = frozenset({"我的番组", "我的番組", "列表模式", "Home"})
_SEARCH_PREFIXES = ("搜索结果", "搜尋結果", "搜索結果")
"""A search may have the releases of many shows."""
_ROMAN = re.compile(r"\s*[\u2160-\u216b](?=\s|$|[\u3000-\u303f~～])")


@dataclass(frozen=True, slots=True)
class Proposal:
    """`show` is None where the feed is of many shows or of none: a person must name it.

    `because` has a reason for each field that has not its usual value. `groups` and `titles` map
    names to their number of releases, the most first. `shows` are all shows of a feed of several,
    each as it would be proposed by itself. Of all `releases`, `of_show` belong to the proposed
    show.
    """

    show: Show | None
    because: Mapping[str, str] = field(default_factory=dict)
    groups: Mapping[str, int] = field(default_factory=dict)
    titles: Mapping[str, int] = field(default_factory=dict)
    releases: int = 0
    shows: tuple[Show, ...] = ()
    of_show: int = 0


def propose_show(
    feed_title: str | None, offers: Iterable[Offer], wanted_title: str | None = None
) -> Proposal:
    """With `wanted_title`, a title that a person gave, only the releases of that title count."""
    named = [offer for offer in offers if comparable_names(offer.release)]
    clusters = _clusters(named)
    titles = dict(Counter(offer.release.title or "" for offer in named).most_common(MOST_NAMES))
    parsed_title = _parse_feed_title(feed_title)
    chosen, why = _choose_releases(clusters, parsed_title, wanted_title)
    title = wanted_title or _title(chosen, parsed_title if why == _BY_FEED else None)
    if title is None:
        shows = []
        for cluster in clusters[:MOST_SHOWS]:
            cluster_title = _title(cluster, None) or ""
            names = _names(cluster, cluster_title)
            shows.append(_build_show(cluster_title, names, cluster, None)[0])
        return Proposal(None, {}, _groups(named), titles, len(named), tuple(shows))
    is_alone = why == _BY_FEED and parsed_title is not None and parsed_title.is_curated
    names = () if is_alone else _names(chosen, title)
    show, because = _build_show(title, names, chosen, parsed_title if why == _BY_FEED else None)
    because = {"title": "It was given." if wanted_title else why} | because
    return Proposal(show, because, _groups(chosen), titles, len(named), of_show=len(chosen))


_BY_FEED = "The feed is called so."
_BY_RELEASES = "Its releases are called so."


@dataclass(frozen=True, slots=True)
class _FeedTitle:
    """A feed's title as it was parsed. `is_curated`: its site lists one show and nothing else."""

    title: str
    season: int | None
    is_curated: bool


def _parse_feed_title(feed_title: str | None) -> _FeedTitle | None:
    text = (feed_title or "").strip()
    curated = _ONE_SHOW.fullmatch(text)
    if (match := curated or _SEARCH.fullmatch(text)) is not None:
        text = match[1].strip().strip('"')
    if text.startswith(_SEARCH_PREFIXES):
        return None
    release = read_title(text).release
    title = (release.title or text)[:LONGEST_TITLE].strip()
    if not title or title in _NO_SHOW:
        return None
    return _FeedTitle(title, release.season, curated is not None)


def _clusters(offers: Sequence[Offer]) -> list[list[Offer]]:
    """Releases that share a name are of one show. The largest cluster comes first."""
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
    clusters: Sequence[list[Offer]], parsed_title: _FeedTitle | None, wanted_title: str | None
) -> tuple[list[Offer], str]:
    """The releases of the show, and the reason why."""
    if wanted_title is not None:
        return _releases_called(wanted_title, clusters), ""
    total = sum(map(len, clusters))
    if parsed_title is not None:
        fitting = _releases_called(parsed_title.title, clusters)
        if clusters and parsed_title.is_curated:
            return [offer for cluster in clusters for offer in cluster], _BY_FEED
        if fitting and len(fitting) >= _SHARE * total:
            return fitting, _BY_FEED
    if clusters and len(clusters[0]) >= _SHARE * total:
        return clusters[0], _BY_RELEASES
    return [], ""


def _releases_called(title: str, clusters: Sequence[list[Offer]]) -> list[Offer]:
    """The releases of all clusters that have a name which contains the title, or is part of it."""
    letters = comparable_title(title)
    if not letters:
        return []

    def is_called(offer: Offer) -> bool:
        return any(letters in name or name in letters for name in comparable_names(offer.release))

    return [offer for cluster in clusters if any(map(is_called, cluster)) for offer in cluster]


def _title(chosen: Sequence[Offer], parsed_title: _FeedTitle | None) -> str | None:
    if not chosen:
        return None
    if parsed_title is not None:
        return " ".join(_ROMAN.sub(" ", parsed_title.title).split()) or parsed_title.title
    ((title, _),) = Counter(offer.release.title or "" for offer in chosen).most_common(1)
    return title[:LONGEST_TITLE] or None


def _names(chosen: Sequence[Offer], title: str) -> tuple[str, ...]:
    """The names of the releases, the most usual first, each spelling once."""
    spelled: Counter[str] = Counter()
    for offer in chosen:
        spelled.update(name for name in offer.release.single_names if comparable_title(name))
    by_letters = {comparable_title(title): title}
    for name, _ in spelled.most_common():
        by_letters.setdefault(comparable_title(name), name[:LONGEST_TITLE])
    return tuple(by_letters.values())[:MOST_NAMES]


def _build_show(
    title: str, names: tuple[str, ...], chosen: Sequence[Offer], parsed_title: _FeedTitle | None
) -> tuple[Show, dict[str, str]]:
    because: dict[str, str] = {}
    season = _season(chosen, parsed_title, because)
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


def _season(
    chosen: Sequence[Offer], parsed_title: _FeedTitle | None, because: dict[str, str]
) -> int:
    """Most titles leave out the season, so a few that name one decide."""
    newest = sorted(chosen, key=lambda offer: offer.candidate.moment, reverse=True)[:NEWEST]
    seasons = Counter(
        offer.release.season for offer in newest if offer.release.season and not offer.release.batch
    )
    if seasons and 4 * seasons.total() >= len(newest):
        ((season, many),) = seasons.most_common(1)
        because["season"] = f"{many} of the {len(newest)} newest releases say so."
        return season or 1
    if parsed_title is not None and parsed_title.season is not None:
        because["season"] = _BY_FEED
        return parsed_title.season
    return 1


def _year(chosen: Sequence[Offer], season: int, because: dict[str, str]) -> int | None:
    """The year in the titles, or that of the first episode. Later seasons keep the first's year."""
    years = Counter(offer.release.year for offer in chosen if offer.release.year)
    if years:
        ((year, many),) = years.most_common(1)
        because["year"] = f"{many} of its releases say so."
        return year
    first = [offer for offer in chosen if offer.release.episode in (Decimal(0), Decimal(1))]
    dated = [offer.candidate.published for offer in first if offer.candidate.published]
    if season != 1 or not dated:
        return None
    because["year"] = "Its first episode came out then."
    return min(dated).astimezone(_JAPAN_TIME).year


def _offset(chosen: Sequence[Offer], because: dict[str, str]) -> int:
    """The offset of titles that have both numbers, such as 01(45), when all of them agree."""
    moved = {
        offer.release.episode - offer.release.absolute
        for offer in chosen
        if offer.release.episode is not None and offer.release.absolute is not None
    }
    if len(moved) != 1:
        return 0
    (offset,) = moved
    if offset % 1 or not offset:
        return 0
    because["episode_offset"] = "Its titles have both numbers."
    return int(offset)


def _episodes(chosen: Sequence[Offer], because: dict[str, str]) -> int | None:
    """The number at the mark of the last episode, when no title goes beyond it."""
    plain_kinds = (None, ReleaseKind.TV, ReleaseKind.ONA)
    releases = (offer.release for offer in chosen if offer.release.kind in plain_kinds)
    singles = [release for release in releases if release.episode_end is None]
    final = {release.episode for release in singles if release.final and release.episode}
    if len(final) != 1:
        return None
    (last,) = final
    if last % 1 or any(release.episode and release.episode > last for release in singles):
        return None
    because["episodes"] = "A title says that it is the last one."
    return int(last)


def _main_kind(chosen: Sequence[Offer], because: dict[str, str]) -> ReleaseKind | None:
    kinds = {offer.release.kind for offer in chosen if offer.release.kind not in EXTRAS}
    if len(kinds) != 1:
        return None
    (kind,) = kinds
    if kind not in (ReleaseKind.MOVIE, ReleaseKind.OVA, ReleaseKind.OAD):
        return None
    because["kind"] = f"All of its releases are {kind}."
    return kind


def _groups(offers: Iterable[Offer]) -> dict[str, int]:
    counted = Counter(group for offer in offers for group in offer.release.groups)
    return dict(counted.most_common(MOST_NAMES))
