"""Match the files of a torrent to slots: the episode and the subtitles of each video."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cache
from typing import Protocol

from headwater.anime.naming.subtitle_files import is_subtitle, is_video, language_tail
from headwater.anime.release import Release, ReleaseKind
from headwater.anime.shows.show import Show
from headwater.anime.shows.slot import (
    EXTRAS,
    SPECIALS,
    NotOfShow,
    Slot,
    SlotMatch,
    match_release_to_show,
)

MOST_FILES = 5_000

_PART = re.compile(r"[ ._\-\])](?:part|pt|cd|disc|disk)[ ._-]?(\d{1,2})(?!\d)", re.IGNORECASE)
_SAMPLE = re.compile(r"(?:^|[/ ._\-\[(])sample(?:$|[/ ._\-\])])", re.IGNORECASE)
_EXTRA_FOLDER = re.compile(
    r"(?:^|/)(?:extras?|bonus|menus?|scans?|samples?|trailers?|previews?|nc ?(?:op|ed)s?|pvs?|cms?"
    r"|特典|映像特典|cds?|fonts?)/",
    re.IGNORECASE,
)

_SEASON_FOLDER = re.compile(r"(?:season|s)[ ._-]?(\d{1,2})|第 ?(\d{1,2}) ?[季期]", re.IGNORECASE)
_KIND_FOLDERS = {
    **dict.fromkeys(("special", "specials", "sp", "sps"), ReleaseKind.SPECIAL),
    **dict.fromkeys(("ova", "ovas"), ReleaseKind.OVA),
    **dict.fromkeys(("oad", "oads"), ReleaseKind.OAD),
    **dict.fromkeys(("movie", "movies"), ReleaseKind.MOVIE),
}

_KINDS_OUTSIDE_SEASON = SPECIALS | {ReleaseKind.MOVIE}
_OWN_NUMBER = re.compile(r"\[?(\d{2,3})(?:v\d)?(?=[\] _(\[])")
"""The number at the beginning of a file's name: `01 [1080p]`, `[01] Words`."""
_BONUS_WORDS = re.compile(
    r"(?<![a-z])(?:bonus|commentary|credits|ending|extras?|interview|making|menu|opening|preview"
    r"|promo|teaser|trailer)(?![a-z])",
    re.IGNORECASE,
)
"""Words of files that have numbers too, but are no episodes: `02 Trailer`."""
_NUMBERED_BONUS = re.compile(rf"(?:{_BONUS_WORDS.pattern})[ _]?\d", re.IGNORECASE)
"""`Commentary 05` has the number of an episode, and may be the larger file."""

TitleReader = Callable[[str], Release]
"""Reads a file's name as a release: `lambda name: read_title(name).release`."""


class ListedFile(Protocol):
    """A file as the download client lists it: `path` has `/` between its parts."""

    @property
    def path(self) -> str: ...

    @property
    def length(self) -> int: ...


@dataclass(frozen=True, slots=True)
class Video:
    """A file that goes to the library: its slots, its part of them, the subtitles beside it."""

    file: ListedFile
    slots: tuple[Slot, ...]
    part: int | None = None
    subtitles: tuple[ListedFile, ...] = ()


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A file that does not go to the library, and why."""

    file: ListedFile
    reason: str


@dataclass(frozen=True, slots=True)
class TorrentContents:
    """Every file of a torrent is in `videos` or `left_out`; `missing` are slots without a video."""

    videos: tuple[Video, ...]
    left_out: tuple[LeftOut, ...]
    missing: tuple[Slot, ...]


def match_torrent_files(
    files: Iterable[ListedFile],
    show: Show,
    slots: Sequence[Slot],
    read: TitleReader,
    *,
    most: int = MOST_FILES,
) -> TorrentContents:
    """The torrent was fetched for its `slots`: nothing else in it goes to the library."""
    listed = sorted(files, key=lambda file: file.path)
    left_out = [LeftOut(file, f"It has more than {most} files.") for file in listed[most:]]
    listed, read = listed[:most], cache(read)
    plain = replace(show, titles=())  # the torrent was accepted; its files may be called anything
    videos = [file for file in listed if is_video(_name(file))]
    chosen: list[Video] = []
    for own_slots, same in _videos_by_slots(videos, plain, slots, read, left_out).items():
        chosen += _choose_videos(same, own_slots, read, left_out)
    chosen = _without_overlaps(chosen, left_out)
    subtitles = [file for file in listed if is_subtitle(_name(file))]
    chosen = _with_subtitles(chosen, subtitles, plain, read, left_out)
    assigned = {each.file.path for each in left_out} | {
        file.path for video in chosen for file in (video.file, *video.subtitles)
    }
    left_out += [LeftOut(file, "It is no video.") for file in listed if file.path not in assigned]
    filled = {slot for video in chosen for slot in video.slots}
    return TorrentContents(
        tuple(chosen), tuple(left_out), tuple(slot for slot in slots if slot not in filled)
    )


def _videos_by_slots(
    videos: Sequence[ListedFile],
    show: Show,
    slots: Sequence[Slot],
    read: TitleReader,
    left_out: list[LeftOut],
) -> dict[tuple[Slot, ...], list[ListedFile]]:
    """Videos by their slots. A lone video of a single episode is the episode of the torrent's
    title, whatever the file's name is."""
    real = []
    for file in videos:
        reason = _why_extra(file, read)
        if reason is None:
            real.append(file)
        else:
            left_out.append(LeftOut(file, reason))
    if len(real) == len(slots) == 1:
        return {tuple(slots): real}
    by_slots: dict[tuple[Slot, ...], list[ListedFile]] = {}
    for file in real:
        slots_or_reason = _slots_of_file(file, show, slots, read)
        if isinstance(slots_or_reason, str):
            left_out.append(LeftOut(file, slots_or_reason))
        else:
            by_slots.setdefault(slots_or_reason, []).append(file)
    return by_slots


def _why_extra(file: ListedFile, read: TitleReader) -> str | None:
    if _SAMPLE.search(file.path):
        return "It is a sample."
    if _EXTRA_FOLDER.search(file.path):
        return "It is in a folder of extras."
    kind = read(_name(file)).kind
    return f"{kind} is not an episode." if kind in EXTRAS else None


def _slots_of_file(
    file: ListedFile, show: Show, slots: Sequence[Slot], read: TitleReader
) -> tuple[Slot, ...] | str:
    """The slots of a file, or the reason why it has none here."""
    if len(slots) == 1 and slots[0].is_film:
        return (slots[0],)
    match = match_release_to_show(_release_of_file(file, read), show)
    if isinstance(match, NotOfShow):
        return match.reason
    asked = frozenset(slots) if len(match.slots) > 1 else slots
    chosen = tuple(slot for slot in match.slots if slot in asked)
    if chosen and len(chosen) == len(match.slots):
        return chosen
    if not match.slots:
        return match.doubt or "Its name names no episode."
    return f"{match.slots[0]} was not asked for."


def _release_of_file(file: ListedFile, read: TitleReader) -> Release:
    """Read the file's name; the folders below the torrent's own give the fields it leaves out."""
    release = _with_leading_number(file, read(_name(file)))
    if release.season is not None:
        return release
    for folder in map(str.strip, reversed(file.path.split("/")[1:-1])):
        if release.season is None:
            release = replace(release, season=_season_of(folder, read))
        if release.kind is None:
            kind = _KIND_FOLDERS.get(folder.casefold()) or read(folder).kind
            release = replace(release, kind=kind if kind in _KINDS_OUTSIDE_SEASON else None)
    return release


def _with_leading_number(file: ListedFile, release: Release) -> Release:
    """A release's title may begin with a number of the show's name; a file of a pack begins with
    its own number."""
    if release.episode is not None or release.kind is not None:
        return release
    name = _name(file)
    match = _OWN_NUMBER.match(name) if _BONUS_WORDS.search(name) is None else None
    return replace(release, episode=Decimal(match[1])) if match else release


def _season_of(folder: str, read: TitleReader) -> int | None:
    if (match := _SEASON_FOLDER.fullmatch(folder)) is not None:
        return int(match[1] or match[2])
    release = read(folder)
    return release.season if release.season_end is None else None


def _choose_videos(
    same: Sequence[ListedFile], slots: tuple[Slot, ...], read: TitleReader, left_out: list[LeftOut]
) -> list[Video]:
    """Numbered parts belong together. Of other doubles choose the newest and largest, but never
    bonus material that has the number of the episode."""
    parts = {int(match[1]): file for file in same if (match := _PART.search(_stem(file)))}
    if len(same) > 1 and len(parts) == len(same):
        return [Video(parts[number], slots, number) for number in sorted(parts)]
    best = max(
        same,
        key=lambda file: (
            _NUMBERED_BONUS.search(_name(file)) is None,
            read(_name(file)).version or 1,
            file.length,
            file.path,
        ),
    )
    left_out += [
        LeftOut(file, f"{_name(best)!r} is taken for {slots[0]}.") for file in same if file != best
    ]
    return [Video(best, slots)]


def _name(file: ListedFile) -> str:
    return file.path.rpartition("/")[2]


def _stem(file: ListedFile) -> str:
    return _name(file).rpartition(".")[0]


def _without_overlaps(chosen: Sequence[Video], left_out: list[LeftOut]) -> list[Video]:
    """Of a file of two episodes and a file of one of them, the file of one stays."""
    single: list[Video] = []
    taken: dict[Slot, Video] = {}
    for video in sorted(chosen, key=lambda video: (len(video.slots), video.slots, video.part or 0)):
        other = next((taken[slot] for slot in video.slots if slot in taken), None)
        if other is not None and other.slots != video.slots:
            reason = f"{_name(other.file)!r} is taken for {other.slots[0]}."
            left_out.append(LeftOut(video.file, reason))
            continue
        taken.update(dict.fromkeys(video.slots, video))
        single.append(video)
    return sorted(single, key=lambda video: (video.slots, video.part or 0))


def _with_subtitles(
    chosen: Sequence[Video],
    subtitles: Sequence[ListedFile],
    show: Show,
    read: TitleReader,
    left_out: list[LeftOut],
) -> list[Video]:
    """A subtitle belongs to a video by its name, or else by its episode. Of two that would get the
    same name, the first stays."""
    beside: dict[str, dict[str, ListedFile]] = {video.file.path: {} for video in chosen}
    stems = {_stem(video.file): video for video in chosen}
    for file in subtitles:
        video = _video_of_subtitle(file, chosen, stems, show, read)
        if video is None:
            left_out.append(LeftOut(file, "No video is its own."))
            continue
        tail = language_tail(file.path, video.file.path)
        ending = f"{tail}.{_name(file).rpartition('.')[2].lower()}"
        first = beside[video.file.path].setdefault(ending, file)
        if first != file:
            left_out.append(LeftOut(file, f"{first.path!r} has the same language."))
    return [replace(video, subtitles=tuple(beside[video.file.path].values())) for video in chosen]


def _may_be_of(file: ListedFile, video: ListedFile, read: TitleReader) -> bool:
    """Of a pack one episode may be chosen: a file that names another one is not its subtitle."""
    if _why_extra(file, read) is not None:
        return False
    mine, theirs = read(_name(video)).episode, read(_name(file)).episode
    return mine is None or theirs is None or mine == theirs


def _video_of_subtitle(
    file: ListedFile,
    chosen: Sequence[Video],
    stems: Mapping[str, Video],
    show: Show,
    read: TitleReader,
) -> Video | None:
    stem = _stem(file)
    for end in range(len(stem), 0, -1):
        # `Show - 1` is not the beginning of `Show - 12`.
        if stem[:end] in stems and not stem[end : end + 1].isalnum():
            return stems[stem[:end]]
    if len(chosen) == 1:
        return chosen[0] if _may_be_of(file, chosen[0].file, read) else None
    match = match_release_to_show(_release_of_file(file, read), show)
    slots = match.slots if isinstance(match, SlotMatch) else ()
    whole = [video for video in chosen if slots and video.slots == slots and video.part is None]
    return whole[0] if whole else None
