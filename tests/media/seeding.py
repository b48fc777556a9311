"""A real seeder that dials the clients."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import libtorrent

from tests.support.torrents import Made


class Seeder:
    """Holds everything in a folder and offers it to whomever it is told to dial."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._session = libtorrent.session(
            {
                "listen_interfaces": "127.0.0.1:0",
                "enable_dht": False,
                "enable_lsd": False,
                "enable_upnp": False,
                "enable_natpmp": False,
                "enable_outgoing_utp": False,
                "enable_incoming_utp": False,
                "allow_multiple_connections_per_ip": True,
                "alert_mask": 0,
            }
        )
        self._held: dict[str, libtorrent.torrent_handle] = {}
        self._torrents: dict[str, bytes] = {}

    def seed(self, torrent: Made) -> None:
        for path, body in torrent.files.items():
            place = self._folder / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(body)
        self._torrents[torrent.infohash] = torrent.torrent
        self._offer(torrent.infohash)

    def dial(self, infohash: str, port: int) -> None:
        """The client may not know the torrent yet, or hang up: dial again until it has all. Who was
        hung up on once waits for a minute, but not if it is offered anew."""
        if self._held[infohash].status().num_peers == 0:
            self._session.remove_torrent(self._held[infohash])
            self._offer(infohash)
            self._held[infohash].connect_peer(("127.0.0.1", port))

    def _offer(self, infohash: str) -> None:
        wish = libtorrent.add_torrent_params()
        wish.ti = libtorrent.torrent_info(self._torrents[infohash])
        wish.save_path = str(self._folder)
        wish.flags |= libtorrent.torrent_flags.seed_mode
        self._held[infohash] = self._session.add_torrent(wish)

    def close(self) -> None:
        self._session.pause()
        del self._held, self._session


@contextmanager
def seeder(folder: Path) -> Iterator[Seeder]:
    it = Seeder(folder)
    try:
        yield it
    finally:
        it.close()
