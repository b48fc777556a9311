"""Where torrents come from: a real seeder that dials a real client, or a scripted client's own."""

import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from tests.media.daemons import Client
from tests.media.seeding import Seeder, seeder
from tests.support.scripted_qbittorrent import ScriptedQBittorrent
from tests.support.torrents import Made

DIALS_EVERY = 0.5


class Swarm(Protocol):
    """`seed` what may be downloaded; `help` what was asked for along, again and again."""

    def seed(self, torrent: Made) -> None: ...

    def help(self, asked_for: Collection[str]) -> None: ...


@dataclass(slots=True)
class RealSwarm:
    client: Client
    source: Seeder
    _held: list[str] = field(default_factory=list)
    _dialled: float = 0.0
    _turn: int = 0

    def seed(self, torrent: Made) -> None:
        self.source.seed(torrent)
        self._held.append(torrent.infohash)

    def help(self, asked_for: Collection[str]) -> None:
        """One at a time: Transmission hangs up on a second call from the same address."""
        wanted = [infohash for infohash in self._held if infohash in asked_for]
        if wanted and time.monotonic() - self._dialled > DIALS_EVERY:
            self._dialled = time.monotonic()
            self._turn += 1
            self.source.dial(wanted[self._turn % len(wanted)], self.client.peers)


@contextmanager
def real_swarm(client: Client, folder: Path) -> Iterator[RealSwarm]:
    with seeder(folder) as source:
        yield RealSwarm(client, source)


@dataclass(slots=True)
class ScriptedSwarm:
    """What the scripted client is to have comes at the next look, all at once. Of torrents with
    `lies_about` in their names the client says so once too early, with other bytes in the files."""

    client: ScriptedQBittorrent
    lies_about: str = "v2"
    _lied: set[str] = field(default_factory=set)
    _held: dict[str, Made] = field(default_factory=dict)

    def seed(self, torrent: Made) -> None:
        self._held[torrent.infohash] = torrent

    def help(self, asked_for: Collection[str]) -> None:
        for infohash, held in list(self.client.torrents.items()):  # the client takes more meanwhile
            torrent = self._held.get(infohash)
            if torrent is None or held.progress == 1.0:
                continue
            is_lie = self.lies_about in torrent.name and infohash not in self._lied
            self._lied.add(infohash)
            for path, body in torrent.files.items():
                _write(Path(held.save_path) / path, body[::-1] if is_lie else body)
            held.files = [(path, len(body)) for path, body in torrent.files.items()]
            held.size, held.name = sum(length for _, length in held.files), torrent.name
            held.progress, held.state = 1.0, "stalledUP"


def _write(place: Path, body: bytes) -> None:
    """As another file: the one that is there may be linked to."""
    place.parent.mkdir(parents=True, exist_ok=True)
    if place.exists() and place.read_bytes() == body:
        return
    place.unlink(missing_ok=True)
    place.write_bytes(body)
