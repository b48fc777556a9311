"""A real seeder that dials the clients."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import libtorrent

from tests.collect.torrents import Made


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
                # A client that does not know the torrent yet hangs up, and will know it soon.
                "min_reconnect_time": 1,
                "max_failcount": 1_000_000,
                "alert_mask": 0,
            }
        )
        self._held: dict[str, libtorrent.torrent_handle] = {}

    def seed(self, torrent: Made) -> None:
        for path, body in torrent.files.items():
            place = self._folder / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(body)
        wish = libtorrent.add_torrent_params()
        wish.ti = libtorrent.torrent_info(torrent.torrent)
        wish.save_path = str(self._folder)
        wish.flags |= libtorrent.torrent_flags.seed_mode
        self._held[torrent.infohash] = self._session.add_torrent(wish)

    def dial(self, infohash: str, port: int) -> None:
        """The client may not know the torrent yet, or hang up: dial again until it has all."""
        self._held[infohash].connect_peer(("127.0.0.1", port))

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
