"""NFO files, which describe shows and episodes to media servers: Kodi, Jellyfin, Emby."""

import re
from collections.abc import Sequence
from html import escape

from headwater.anime.naming.library_path import season_and_numbers
from headwater.anime.release import Release, plain_number
from headwater.anime.shows.show import Show
from headwater.anime.shows.slot import Slot

SHOW_FILE = "tvshow.nfo"

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_HEAD = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'


def show_nfo(show: Show) -> str:
    """The text of `tvshow.nfo`, which stands in the folder of the show."""
    return _document("tvshow", [("title", show.title), ("year", show.year)])


def film_nfo(show: Show) -> str:
    """The text of the file beside the film, with the same stem."""
    return _document("movie", [("title", show.title), ("year", show.year)])


def episode_nfo(show: Show, slots: Sequence[Slot], release: Release) -> str:
    """The text of the file beside the episode, with the same stem. For a half it names the place
    in the season. For a file with several episodes it has one element after the other, as media
    servers expect."""
    details = [
        _episode_details(show, slot, release, is_alone=len(slots) == 1) for slot in sorted(slots)
    ]
    return _HEAD + "".join(details)


def _episode_details(show: Show, slot: Slot, release: Release, *, is_alone: bool) -> str:
    season, number = season_and_numbers(slot)
    fields: list[tuple[str, str | int | None]] = [
        ("title", _title(slot, release) if is_alone else None),
        ("showtitle", show.title),
        ("season", season),
        ("episode", number.first),
    ]
    if slot.number % 1:
        following = int(slot.number) + 1
        fields += [
            ("airsbefore_season", slot.season),
            ("airsbefore_episode", following),
            ("displayseason", slot.season),
            ("displayepisode", following),
        ]
    return _element("episodedetails", fields)


def _title(slot: Slot, release: Release) -> str | None:
    """None where the title of a catalogue is better than ours."""
    if release.episode_title:
        return release.episode_title
    return f"Episode {plain_number(slot.number)}" if slot.number % 1 else None


def _document(root: str, fields: list[tuple[str, str | int | None]]) -> str:
    return _HEAD + _element(root, fields)


def _element(root: str, fields: list[tuple[str, str | int | None]]) -> str:
    lines = []
    for name, value in fields:
        if value is not None:
            text = escape(_NOT_XML.sub("", str(value)), quote=False)
            lines.append(f"  <{name}>{text}</{name}>\n")
    return f"<{root}>\n{''.join(lines)}</{root}>\n"
