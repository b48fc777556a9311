"""A torrent's videos on their shelf: each with its place in the library and what stands beside."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from headwater.anime.naming.library_path import LibraryPath, Naming, library_path_of
from headwater.anime.naming.match_files import Video
from headwater.anime.naming.nfo import episode_nfo, film_nfo
from headwater.anime.naming.safe_path import extension_of, unused_path
from headwater.anime.naming.subtitle_files import subtitle_path
from headwater.anime.release import Release
from headwater.anime.shows.show import Show
from headwater.anime.shows.slot import Slot

NFO = "nfo"


@dataclass(frozen=True, slots=True)
class NamedFile:
    """A file and its path in the library. `source` is below the torrent's folder; a `body` is
    ours to write, and its source is only a name."""

    source: str
    path: str
    length: int
    slots: tuple[Slot, ...]
    body: bytes | None = None


@dataclass(frozen=True, slots=True)
class NamedVideo:
    """A video and what bears its name."""

    video: NamedFile
    beside: tuple[NamedFile, ...]
    show_folder: str

    @property
    def all(self) -> tuple[NamedFile, ...]:
        return (self.video, *self.beside)


def name_videos(
    videos: Sequence[Video],
    show: Show,
    release: Release,
    naming: Naming,
    *,
    nfo: bool = False,
    avoid: Collection[str] = (),
) -> list[NamedVideo]:
    """No two of them share a path, and none has one of those to `avoid`."""
    taken, found = list(avoid), list[NamedVideo]()
    for video in videos:
        place = library_path_of(
            show, video.slots, release, video.file.path, part=video.part, naming=naming
        )
        place = _renamed(place, unused_path(place.path, taken))
        bundle = _name_video(video, place, show, release, nfo=nfo)
        taken += [each.path for each in bundle.all]
        found.append(bundle)
    return found


def _renamed(place: LibraryPath, path: str) -> LibraryPath:
    name = path.rpartition("/")[2]
    extension = extension_of(name)
    return replace(place, stem=name[: -len(extension) - 1] if extension else name)


def _name_video(
    video: Video, place: LibraryPath, show: Show, release: Release, *, nfo: bool
) -> NamedVideo:
    beside = [
        NamedFile(
            file.path,
            subtitle_path(place, file.path, video.file.path).path,
            file.length,
            video.slots,
        )
        for file in video.subtitles
    ]
    if nfo:
        said = film_nfo(show) if show.is_film else episode_nfo(show, video.slots, release)
        body = said.encode()
        path = replace(place, extension=NFO).path
        beside.append(NamedFile(f"{video.file.path}.{NFO}", path, len(body), video.slots, body))
    own = NamedFile(video.file.path, place.path, video.file.length, video.slots)
    return NamedVideo(own, tuple(beside), place.show_folder)
