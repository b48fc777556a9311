"""Real download clients on loopback, each in a folder of its own, and a seeder that dials them."""

import json
import shutil
import tempfile
from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import pbkdf2_hmac
from pathlib import Path

from headwater.anime.download_clients.connection import DownloadClientConfig
from tests.support.brokers import Greeting, OwnServer
from tests.support.servers import ServerMissing, quiet_port

USER, PASSWORD = "keeper", "open-sesame"
_HTTP: Greeting = (b"GET / HTTP/1.0\r\nHost: 127.0.0.1\r\n\r\n", (b"HTTP/",))
_PROGRAMS = {
    "qbittorrent": "qbittorrent-nox",
    "transmission": "transmission-daemon",
    "aria2": "aria2c",
}
KINDS = tuple(_PROGRAMS)


@dataclass(frozen=True, slots=True)
class Client:
    """A client of our own; `peers` is the port where it waits for other peers."""

    kind: str
    server: OwnServer
    room: Path
    peers: int

    @property
    def plan(self) -> DownloadClientConfig:
        user = "" if self.kind == "aria2" else USER
        return DownloadClientConfig(
            self.kind, f"http://127.0.0.1:{self.server.port}", user, PASSWORD
        )


def missing(kind: str) -> str | None:
    """Why there is no such client here."""
    program = _PROGRAMS[kind]
    if shutil.which(program) is None:
        return f"{program} is not installed; `make test-media` installs it where it can"
    return None


@contextmanager
def own_client(kind: str) -> Iterator[Client]:
    if (why := missing(kind)) is not None:
        raise ServerMissing(why)
    peers = quiet_port()
    with tempfile.TemporaryDirectory(prefix=f"headwater-{kind}-") as folder:
        room = Path(folder)
        words = {"qbittorrent": _qbittorrent, "transmission": _transmission, "aria2": _aria2}
        server = OwnServer("http", lambda port: words[kind](room, port, peers), room, _HTTP)
        server.start()
        try:
            yield Client(kind, server, room, peers)
        finally:
            server.stop()


def _qbittorrent(room: Path, port: int, peers: int) -> list[str]:
    salt = b"sixteen bytes ok"
    key = pbkdf2_hmac("sha512", PASSWORD.encode(), salt, 100_000, 64)
    secret = f"@ByteArray({b64encode(salt).decode()}:{b64encode(key).decode()})"
    config = room / "qBittorrent" / "config" / "qBittorrent.conf"
    config.parent.mkdir(parents=True, exist_ok=True)
    config.write_text(
        "[LegalNotice]\nAccepted=true\n"
        "[BitTorrent]\nSession\\Interface=lo\nSession\\InterfaceAddress=127.0.0.1\n"
        "Session\\DHTEnabled=false\nSession\\PeXEnabled=false\nSession\\LSDEnabled=false\n"
        "Session\\QueueingSystemEnabled=false\nSession\\BTProtocol=TCP\n"
        f"Session\\Port={peers}\nSession\\DefaultSavePath={room / 'downloads'}\n"
        "[Preferences]\nWebUI\\Address=127.0.0.1\nWebUI\\LocalHostAuth=true\n"
        f"WebUI\\Port={port}\nWebUI\\Username={USER}\n"
        f'WebUI\\Password_PBKDF2="{secret}"\n'
    )
    return ["qbittorrent-nox", f"--profile={room}", f"--webui-port={port}"]


def _transmission(room: Path, port: int, peers: int) -> list[str]:
    settings = {
        "rpc-port": port,
        "rpc-bind-address": "127.0.0.1",
        "rpc-authentication-required": True,
        "rpc-username": USER,
        "rpc-password": PASSWORD,
        "rpc-whitelist-enabled": False,
        "bind-address-ipv4": "127.0.0.1",
        "bind-address-ipv6": "::1",
        "peer-port": peers,
        "dht-enabled": False,
        "pex-enabled": False,
        "lpd-enabled": False,
        "utp-enabled": False,
        "port-forwarding-enabled": False,
        "download-dir": str(room / "downloads"),
    }
    (room / "settings.json").write_text(json.dumps(settings))
    return ["transmission-daemon", "-f", "-g", str(room)]


def _aria2(room: Path, port: int, peers: int) -> list[str]:
    session = room / "session"
    session.touch()
    return [
        "aria2c",
        "--enable-rpc",
        f"--rpc-listen-port={port}",
        f"--rpc-secret={PASSWORD}",
        "--interface=127.0.0.1",
        f"--listen-port={peers}",
        "--enable-dht=false",
        "--enable-dht6=false",
        "--bt-enable-lpd=false",
        "--enable-peer-exchange=false",
        "--disable-ipv6=true",
        "--seed-ratio=0.0",
        "--bt-detach-seed-only=true",
        f"--dir={room / 'downloads'}",
        f"--save-session={session}",
        f"--input-file={session}",
        "--save-session-interval=1",
        "--force-save=true",
        "--no-conf=true",
    ]
