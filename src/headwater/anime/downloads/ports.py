"""What may be asked of a download client and of the folders that its files go to."""

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
    """The download client answered, and will not do it. Facts: `client`."""

    code = "download_client_refused"
    status = 502


class LibraryTrouble(HeadwaterError):
    """A folder or a file of the library or the downloads does not allow it. Facts: `path`."""

    code = "library_trouble"


class PlaceTaken(LibraryTrouble):
    """Another file has that place in the library. It is never overwritten."""

    code = "place_taken"


class NotOurs(LibraryTrouble):
    """What stands there is not the file that we put there, and stays."""

    code = "not_ours"


class FolderGone(LibraryTrouble):
    """The library or the downloads are not there at all: a disk that is not mounted."""

    code = "folder_gone"


class SourceGone(LibraryTrouble):
    """A file of the downloads is not there any more: somebody has taken it away."""

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
    """One file of a job: its path below the job's save path, with `/` between the parts."""

    path: str
    length: int


class DownloadClient(Protocol):
    """One download client. ClientDown and ClientRefused say what went wrong.

    An infohash is 40 lower-case hex digits, always; nothing else ever reaches the client.
    """

    deletes_files: bool
    """False: it forgets a torrent, and leaves its files to us."""

    async def version(self) -> str:
        """The client's own name and version: it can be reached and lets us in."""

    async def add(self, job: NewClientTorrent) -> None:
        """Adding what is there already is no trouble, and changes nothing of it."""

    async def jobs(self, infohashes: Sequence[str]) -> Mapping[str, ClientTorrent]:
        """Those of them that the client has."""

    async def files(self, infohash: str) -> Sequence[ClientTorrentFile]:
        """Empty while a magnet link has not found its torrent yet."""

    async def remove(self, infohash: str, *, with_files: bool) -> bool:
        """Only what bears our tag, where the client has tags. False when it is not there.
        ClientRefused when it is somebody else's."""

    async def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class PlacedFile:
    """A file of ours as we put it into the library. `mark` tells it from another file in its place;
    while there is none (we died before we noted it), its `source` in the downloads does."""

    path: str
    length: int
    mark: str = ""
    source: str = ""


@dataclass(frozen=True, slots=True)
class SwitchedFile:
    """The new file's mark, and where the old one is now; None when it was deleted."""

    mark: str
    kept: str | None


class MediaLibrary(Protocol):
    """The downloads and the library, as folders. Paths are relative, with `/` between their parts,
    and never lead out of their folder. LibraryTrouble says what went wrong.

    Every call may be made again after a crash, and then finds what it did before.
    """

    async def lacks(self, folder: str, torrent: Torrent, *, pieces: bool) -> str | None:
        """What is missing or wrong below that folder of the downloads, in words; None: nothing.
        `pieces`: every byte is read and hashed, where the torrent has hashes."""

    async def place(self, source: str, target: str, *, keep: bool = False) -> str:
        """A file of the downloads comes to be in the library, whole, in one moment: its mark.
        PlaceTaken when something else is there, SourceGone when there is no such file. `keep`: the
        source stays, though files are moved here; it is somebody else's."""

    async def switch(
        self, source: str, old: PlacedFile, *, today: str, keep: bool = False
    ) -> SwitchedFile:
        """The same, into the place of a file of ours, which goes to the recycle folder: there is
        no moment without one of the two in its place. PlaceTaken when something else is there."""

    async def write(self, target: str, body: bytes, *, over: Sequence[PlacedFile] = ()) -> str:
        """A small file of our own: its mark. PlaceTaken when something is there that is neither
        the same nor one of those it goes `over`."""

    async def recycle(self, old: PlacedFile, *, today: str) -> str | None:
        """Out of the library. Where it is now; None when it was deleted, or was not there.
        NotOurs when it is not the file we placed there: then it stays."""

    async def discard(self, paths: Sequence[str]) -> None:
        """Files of the downloads that no client will delete; folders that are empty then go too."""

    async def free_bytes(self) -> int:
        """Of the downloads."""

    async def sweep(self, before: str) -> int:
        """Files that were recycled before that day (YYYY-MM-DD) go for good: how many."""

    async def troubles(self) -> Sequence[str]:
        """For the doctor, in words."""
