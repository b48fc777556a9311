"""Ports to a download client, and to the folders of the downloads and the library."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from headwater.anime.torrents.torrent_file import Torrent
from headwater.core.errors import HeadwaterError

ClientTorrentState = Literal["waiting", "downloading", "checking", "complete", "failed"]


class ClientDown(HeadwaterError):
    """The download client cannot be reached, or does not let us in. Facts: `client`."""

    code = "download_client_down"
    status = 502


class ClientRefused(HeadwaterError):
    """The download client answered, and refuses. Facts: `client`."""

    code = "download_client_refused"
    status = 502


class LibraryTrouble(HeadwaterError):
    """A folder or a file of the library or the downloads does not allow it. Facts: `path`."""

    code = "library_trouble"


class PlaceTaken(LibraryTrouble):
    """Another file has that place in the library. It is never overwritten."""

    code = "place_taken"


class NotOurs(LibraryTrouble):
    """The file there is not the one that we put there. It stays."""

    code = "not_ours"


class FolderGone(LibraryTrouble):
    """The library or the downloads are not there at all: a disk that is not mounted."""

    code = "folder_gone"


class SourceGone(LibraryTrouble):
    """A file of the downloads is not there any more: somebody has removed it."""

    code = "source_gone"


class NoRoom(LibraryTrouble):
    """The disk is full."""

    code = "no_room"


@dataclass(frozen=True, slots=True)
class NewClientTorrent:
    """A torrent for a client: the file's bytes, or a magnet link where there is no file."""

    infohash: str
    save_path: str
    torrent: bytes | None = None
    magnet: str | None = None


@dataclass(frozen=True, slots=True)
class ClientTorrent:
    """A torrent as a client has it. `is_ours`: it bears our tag, where the client has tags."""

    infohash: str
    name: str
    state: ClientTorrentState
    progress: float
    size: int
    save_path: str
    is_ours: bool
    detail: str = ""


@dataclass(frozen=True, slots=True)
class ClientTorrentFile:
    """One file of a torrent: its path below the torrent's save path, with `/` between the parts."""

    path: str
    length: int


class DownloadClient(Protocol):
    """One download client. ClientDown and ClientRefused say what went wrong.

    An infohash is 40 lower-case hex digits, always; nothing else ever reaches the client.
    """

    deletes_files: bool
    """False: the client forgets a torrent, and leaves its files to us."""

    async def version(self) -> str:
        """The client's own name and version. An answer proves that it can be reached and lets us
        in."""

    async def add(self, torrent: NewClientTorrent) -> None:
        """Add a torrent. Adding one that is there already changes nothing."""

    async def list_torrents(self, infohashes: Sequence[str]) -> Mapping[str, ClientTorrent]:
        """Those of these torrents that the client has, by infohash."""

    async def files(self, infohash: str) -> Sequence[ClientTorrentFile]:
        """The files of a torrent. Empty while a magnet link has not found its torrent yet."""

    async def remove(self, infohash: str, *, with_files: bool) -> bool:
        """Remove a torrent that bears our tag, where the client has tags. False when it is not
        there. ClientRefused when it is somebody else's."""

    async def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class PlacedFile:
    """A file of ours as we put it into the library. `mark` tells it from another file in its place;
    while there is no mark (we died before we noted it), its `source` in the downloads does."""

    path: str
    length: int
    mark: str = ""
    source: str = ""


@dataclass(frozen=True, slots=True)
class SwitchedFile:
    """The new file's mark, and the path of the old one now; None when it was deleted."""

    mark: str
    kept: str | None


class MediaLibrary(Protocol):
    """The downloads and the library, as folders. Paths are relative, with `/` between their parts,
    and never lead out of their folder. LibraryTrouble says what went wrong.

    Every call may be made again after a crash, and then finds what it did before.
    """

    async def lacks(self, folder: str, torrent: Torrent, *, pieces: bool) -> str | None:
        """The first thing that is missing or wrong below that folder of the downloads, in words;
        None when there is none. `pieces`: every byte is read and hashed, where the torrent has
        hashes."""

    async def place(self, source: str, target: str, *, keep: bool = False) -> str:
        """Place a file of the downloads in the library, whole and in one moment; returns its mark.
        PlaceTaken when something else is there, SourceGone when there is no such file. `keep`: the
        source stays, even where files are moved, because it is somebody else's."""

    async def switch(
        self, source: str, old: PlacedFile, *, today: str, keep: bool = False
    ) -> SwitchedFile:
        """Place a file in place of one of ours, which goes to the recycle folder: there is no
        moment without one of the two in its place. PlaceTaken when something else is there."""

    async def write(self, target: str, body: bytes, *, over: Sequence[PlacedFile] = ()) -> str:
        """Write a small file of our own; returns its mark. PlaceTaken when something is there that
        is neither the same nor one of those that it may go `over`."""

    async def recycle(self, old: PlacedFile, *, today: str) -> str | None:
        """Take a file out of the library; returns its path now, or None when it was deleted or was
        not there. NotOurs when it is not the file that we placed there: then it stays."""

    async def discard(self, paths: Sequence[str]) -> None:
        """Delete files of the downloads that no client will delete, and folders that are empty
        then."""

    async def free_bytes(self) -> int:
        """Free bytes on the disk of the downloads."""

    async def sweep(self, before: str) -> int:
        """Delete for good what was recycled before that day (YYYY-MM-DD); returns how many
        files."""

    async def troubles(self) -> Sequence[str]:
        """Troubles with the folders, in words, for `headwater doctor`."""
