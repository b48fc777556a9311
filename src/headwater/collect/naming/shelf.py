"""A torrent's videos on their shelf: each with its place in the library and what stands beside."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from headwater.collect.contents import Video
from headwater.collect.naming.nfo import episode_nfo, film_nfo
from headwater.collect.naming.place import Naming, Place, place_of
from headwater.collect.naming.safe import distinct, extension_of
from headwater.collect.naming.sidecar import subtitle_place
from headwater.collect.release import Release
from headwater.collect.show import Show
from headwater.collect.slot import Slot

NFO = "nfo"


@dataclass(frozen=True, slots=True)
class Shelved:
    """A file and its path in the library. `source` is below the torrent's folder; a `body` is
    ours to write, and its source is only a name."""

    source: str
    path: str
    length: int
    slots: tuple[Slot, ...]
    body: bytes | None = None


@dataclass(frozen=True, slots=True)
class Bundle:
    """A video and what bears its name."""

    video: Shelved
    beside: tuple[Shelved, ...]
    show_folder: str

    @property
    def all(self) -> tuple[Shelved, ...]:
        return (self.video, *self.beside)


def bundles_of(
    videos: Sequence[Video],
    show: Show,
    release: Release,
    naming: Naming,
    *,
    nfo: bool = False,
    avoid: Collection[str] = (),
) -> list[Bundle]:
    """No two of them share a path, and none has one of those to `avoid`."""
    taken, found = list(avoid), list[Bundle]()
    for video in videos:
        place = place_of(
            show, video.slots, release, video.file.path, part=video.part, naming=naming
        )
        place = _renamed(place, distinct(place.path, taken))
        bundle = _bundle(video, place, show, release, nfo=nfo)
        taken += [each.path for each in bundle.all]
        found.append(bundle)
    return found


def _renamed(place: Place, path: str) -> Place:
    name = path.rpartition("/")[2]
    extension = extension_of(name)
    return replace(place, stem=name[: -len(extension) - 1] if extension else name)


def _bundle(video: Video, place: Place, show: Show, release: Release, *, nfo: bool) -> Bundle:
    beside = [
        Shelved(
            file.path,
            subtitle_place(place, file.path, video.file.path).path,
            file.length,
            video.slots,
        )
        for file in video.subtitles
    ]
    if nfo:
        said = film_nfo(show) if show.is_film else episode_nfo(show, video.slots, release)
        body = said.encode()
        path = replace(place, extension=NFO).path
        beside.append(Shelved(f"{video.file.path}.{NFO}", path, len(body), video.slots, body))
    own = Shelved(video.file.path, place.path, video.file.length, video.slots)
    return Bundle(own, tuple(beside), place.show_folder)
