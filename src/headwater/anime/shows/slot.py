"""Slots: the episodes of a show that a release fills, and whether it belongs to the show at all."""

from dataclasses import dataclass
from decimal import Decimal
from unicodedata import normalize

from headwater.anime.release import Release, ReleaseKind, plain_number
from headwater.anime.shows.show import Show

MOST_SLOTS = 2_000

SPECIALS = frozenset({ReleaseKind.OVA, ReleaseKind.OAD, ReleaseKind.SPECIAL})
EXTRAS = frozenset(
    {
        ReleaseKind.OPENING,
        ReleaseKind.ENDING,
        ReleaseKind.CREDITLESS_OPENING,
        ReleaseKind.CREDITLESS_ENDING,
        ReleaseKind.PREVIEW,
        ReleaseKind.COMMERCIAL,
        ReleaseKind.MENU,
        ReleaseKind.SOUNDTRACK,
    }
)


@dataclass(frozen=True, slots=True, order=True)
class Slot:
    """A place in the library that one release fills. A half (12.5) is a place of its own."""

    season: int
    number: Decimal

    @property
    def is_film(self) -> bool:
        return self == FILM

    @property
    def season_or_none(self) -> int | None:
        """None for a film, which is of no season."""
        return None if self.is_film else self.season

    @property
    def episode_or_none(self) -> int | float | None:
        """None for a film, which is no episode."""
        return None if self.is_film else plain_number(self.number)

    @property
    def name(self) -> str:
        return str(self)

    def __str__(self) -> str:
        if self.is_film:
            return "the film"
        number = plain_number(self.number)
        return (
            f"S{self.season:02}E{number:02}"
            if isinstance(number, int)
            else (f"S{self.season:02}E{number:04.1f}")
        )


FILM = Slot(-1, Decimal(0))


@dataclass(frozen=True, slots=True)
class SlotMatch:
    """`slots` is empty where the title does not name them. A match that is not sure may fill an
    empty slot, but never takes one from another release; `doubt` is its reason in words."""

    slots: tuple[Slot, ...]
    doubt: str | None = None

    @property
    def is_sure(self) -> bool:
        return self.doubt is None


@dataclass(frozen=True, slots=True)
class NotOfShow:
    """A release that is no part of the show, with the rule that decided it and its reason."""

    rule: str
    reason: str


def match_release_to_show(release: Release, show: Show) -> SlotMatch | NotOfShow:
    stranger = _of_another_show(release, show) or _of_another_kind(release, show)
    if stranger is not None:
        return stranger
    if show.is_film:
        return _with_title_doubt(SlotMatch((FILM,)), release, show)
    is_main_kind = release.kind is not None and release.kind is show.main_kind
    is_of_season_0 = release.season == 0 and show.season != 0
    if not is_main_kind and (release.kind in SPECIALS or is_of_season_0):
        if release.season not in (None, 0, show.season):
            return _of_another_season(release, show)
        match = _special(release, show)
    elif release.season not in (None, show.season) or release.season_end is not None:
        return _of_another_season(release, show)
    else:
        several = release.batch or release.episode_end is not None
        match = _pack(release, show) if several else _single(release, show)
    return _with_title_doubt(match, release, show)


def may_share_releases(one: Show, other: Show) -> bool:
    """Whether one release may belong to both shows: they have one season and a name in common. A
    show without names has every name."""
    if one.season != other.season:
        return False
    names = {comparable_title(title) for title in one.titles}
    others = {comparable_title(title) for title in other.titles}
    return not names or not others or not names.isdisjoint(others)


def comparable_title(title: str) -> str:
    return "".join(filter(str.isalnum, normalize("NFKC", title).casefold()))


def comparable_names(release: Release) -> list[str]:
    return [letters for name in release.names if (letters := comparable_title(name))]


def _of_another_show(release: Release, show: Show) -> NotOfShow | None:
    if not show.titles:
        return None
    names = [name for name in release.names if comparable_title(name)]
    if not names or any(
        _contains_title(name, comparable_title(title))
        or _contains_title(title, comparable_title(name))
        for name in names
        for title in show.titles
    ):
        return None
    return NotOfShow("other_show", f"It is called {release.title!r}, which is not this show.")


def _contains_title(title: str, letters: str) -> bool:
    """Whether a title contains the letters as words of their own: there is no AIR in Fairy Tail.
    Chinese has no spaces between words."""
    whole, edges = comparable_title(title), _word_edges(title)
    at = whole.find(letters)
    while at >= 0:
        if at in edges and at + len(letters) in edges:
            return True
        at = whole.find(letters, at + 1)
    return False


def _word_edges(title: str) -> set[int]:
    """Where words begin or end, among the letters of the title."""
    edges, count, before = {0}, 0, " "
    for letter in normalize("NFKC", title).casefold():
        if (
            not letter.isascii()
            or not before.isascii()
            or _letter_class(letter) != _letter_class(before)
        ):
            edges.add(count)
        count += letter.isalnum()
        before = letter
    return edges | {count}


def _letter_class(letter: str) -> tuple[bool, bool]:
    return letter.isalpha(), letter.isdigit()


def _with_title_doubt(match: SlotMatch, release: Release, show: Show) -> SlotMatch:
    """A title that only contains ours, or is contained in it, may be of a sequel or a spin-off."""
    ours = {comparable_title(title) for title in show.titles}
    if not match.is_sure or not ours or ours & set(comparable_names(release)):
        return match
    named = f"Its title {release.title!r}" if release.title else "What has no title"
    return SlotMatch(match.slots, f"{named} may be another show's.")


def _of_another_kind(release: Release, show: Show) -> NotOfShow | None:
    kind = release.kind
    if kind in EXTRAS:
        return NotOfShow("extra", f"{kind} is not an episode.")
    if show.is_film and kind is not ReleaseKind.MOVIE and release.episode is not None:
        return NotOfShow("other_kind", "It is an episode, and the show is a film.")
    if kind is ReleaseKind.MOVIE and not show.is_film:
        return NotOfShow("other_kind", "It is a film, and the show is a series.")
    return None


def _of_another_season(release: Release, show: Show) -> NotOfShow | SlotMatch:
    if release.season_end is not None:
        return SlotMatch((), "It holds several seasons.")
    return NotOfShow(
        "other_season", f"It is of season {release.season}, and season {show.season} is collected."
    )


def _special(release: Release, show: Show) -> SlotMatch:
    """Specials have no season of their own: Season 00 is where media servers look for them."""
    if release.batch or release.episode_end is not None:
        if release.episode is None or release.episode_end is None:
            return SlotMatch((), "It holds several specials and does not say which.")
        match = _match_range(0, release.episode, release.episode_end)
        slots = (_slot_of_special(release, slot.number, show) or slot for slot in match.slots)
        return SlotMatch(tuple(slots), match.doubt)
    number = Decimal(1) if release.episode is None else release.episode
    if (slot := _slot_of_special(release, number, show)) is not None:
        return SlotMatch((slot,))
    doubt = "It is a special without a number." if release.episode is None else None
    return SlotMatch((Slot(0, number),), doubt)


def _slot_of_special(release: Release, number: Decimal, show: Show) -> Slot | None:
    """The slot that a person has set for this special."""
    label = f"{release.kind or ReleaseKind.SPECIAL}{plain_number(number)}"
    return Slot(0, Decimal(show.specials[label])) if label in show.specials else None


def _single(release: Release, show: Show) -> SlotMatch:
    if release.episode is None:
        return SlotMatch((), "Its title names no episode.")
    number, doubt = _number_in_season(release, show)
    label = str(plain_number(number))
    if number % 1 and label in show.specials:
        return SlotMatch((Slot(0, Decimal(show.specials[label])),), doubt)
    return SlotMatch((Slot(show.season, number),), doubt or _of_later_part(release, show))


def _of_later_part(release: Release, show: Show) -> str | None:
    if (release.part or 1) < 2 or show.episode_offset:
        return None
    return f"It is of part {release.part}, whose numbers may begin anew."


def _number_in_season(release: Release, show: Show) -> tuple[Decimal, str | None]:
    """The title's number with the user's offset. Groups that count within the season write a
    number that the offset would push below the first episode: their number stays as it is."""
    number, offset = release.episode or Decimal(0), show.episode_offset
    if not offset:
        return number, _doubt_beyond_season(number, show)
    moved = number + offset
    if release.absolute is not None:
        counted = release.absolute + offset
        if counted == number:
            return number, None
        return number, f"Its two numbers do not fit the offset of {offset}."
    if moved < 1:
        return number, _doubt_beyond_season(number, show)
    return moved, _doubt_beyond_season(moved, show)


def _doubt_beyond_season(number: Decimal, show: Show) -> str | None:
    if show.episodes is None or number < show.episodes + 1:
        return None
    return f"It is number {plain_number(number)} of a season that has {show.episodes} episodes."


def _pack(release: Release, show: Show) -> SlotMatch:
    if release.episode is not None and release.episode_end is not None:
        first, doubt = _number_in_season(release, show)
        moved = first - release.episode
        match = _match_range(show.season, first, release.episode_end + moved)
        doubts = (_doubt_beyond_season(slot.number, show) for slot in match.slots)
        doubt = match.doubt or doubt or next(filter(None, doubts), None)
        return SlotMatch(match.slots, doubt or _of_later_part(release, show))
    if show.episodes is None or release.part is not None:
        return SlotMatch((), "It is a pack that does not say which episodes it holds.")
    return _match_range(show.season, Decimal(1), Decimal(show.episodes))


def _match_range(season: int, first: Decimal, last: Decimal) -> SlotMatch:
    if not first <= last < first + MOST_SLOTS:
        return SlotMatch((), f"Episodes {first} to {last} cannot be one pack.")
    count = int(last - first) + 1
    return SlotMatch(tuple(Slot(season, first + step) for step in range(count)))
