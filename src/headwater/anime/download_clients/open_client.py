"""Every kind of download client, by name: one row each."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Protocol

from headwater.anime.download_clients.aria2 import Aria2
from headwater.anime.download_clients.connection import ClientConnection, DownloadClientConfig
from headwater.anime.download_clients.qbittorrent import QBittorrent
from headwater.anime.download_clients.transmission import Transmission
from headwater.anime.downloads.ports import DownloadClient
from headwater.core.errors import BadSettings
from headwater.web.limits import WebLimits


class DownloadClientKind(Protocol):
    """A class of clients."""

    @property
    def usual_path(self) -> str:
        """Where one is found when its address has no path."""

    def __call__(self, link: ClientConnection) -> DownloadClient: ...


CLIENTS: Mapping[str, DownloadClientKind] = {
    "qbittorrent": QBittorrent,
    "transmission": Transmission,
    "aria2": Aria2,
}
"""`DownloadClientName` of the settings has the same names."""


def open_download_client(
    config: DownloadClientConfig, limits: WebLimits, user_agent: str
) -> DownloadClient:
    """Nothing is asked yet."""
    kind = CLIENTS.get(config.kind)
    if kind is None:
        raise BadSettings(f"There is no download client {config.kind!r}.")
    if kind.usual_path:
        config = _with_default_path(config, kind.usual_path)
    return kind(ClientConnection(config, limits, user_agent))


def _with_default_path(config: DownloadClientConfig, usual: str) -> DownloadClientConfig:
    base = config.url.rstrip("/")
    has_path = "/" in base.partition("://")[2]
    return replace(config, url=base if has_path else base + usual)
