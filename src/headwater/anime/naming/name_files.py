"""Name the files of a torrent: give each video a library path, with its subtitles and NFO file."""

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
    """A file and its path in the library. `source` is below the torrent's folder. A file with a
    `body` is written by us, and its source is only a name."""

    source: str
    path: str
    length: int
    slots: tuple[Slot, ...]
    body: bytes | None = None


@dataclass(frozen=True, slots=True)
class NamedVideo:
    """A video and the files that have its name."""

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
    """No two videos share a path, and none has a path to `avoid`."""
    taken, named_videos = list(avoid), list[NamedVideo]()
    for video in videos:
        library_path = library_path_of(
            show, video.slots, release, video.file.path, part=video.part, naming=naming
        )
        name = unused_path(library_path.path, taken).rpartition("/")[2]
        extension = extension_of(name)
        stem = name[: -len(extension) - 1] if extension else name
        named = _name_video(video, replace(library_path, stem=stem), show, release, nfo=nfo)
        taken += [file.path for file in named.all]
        named_videos.append(named)
    return named_videos


def _name_video(
    video: Video, library_path: LibraryPath, show: Show, release: Release, *, nfo: bool
) -> NamedVideo:
    beside = [
        NamedFile(
            file.path,
            subtitle_path(library_path, file.path, video.file.path).path,
            file.length,
            video.slots,
        )
        for file in video.subtitles
    ]
    if nfo:
        nfo_text = film_nfo(show) if show.is_film else episode_nfo(show, video.slots, release)
        body = nfo_text.encode()
        path = replace(library_path, extension=NFO).path
        beside.append(NamedFile(f"{video.file.path}.{NFO}", path, len(body), video.slots, body))
    own = NamedFile(video.file.path, library_path.path, video.file.length, video.slots)
    return NamedVideo(own, tuple(beside), library_path.show_folder)
