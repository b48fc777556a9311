"""Open a download client by the name of its kind. Each kind has one row here."""

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
    """A class of download clients."""

    @property
    def usual_path(self) -> str:
        """The path to use when the configured address has none."""

    def __call__(self, connection: ClientConnection) -> DownloadClient: ...


CLIENTS: Mapping[str, DownloadClientKind] = {
    "qbittorrent": QBittorrent,
    "transmission": Transmission,
    "aria2": Aria2,
}
"""`DownloadClientName` of the settings has the same names."""


def open_download_client(
    config: DownloadClientConfig, limits: WebLimits, user_agent: str
) -> DownloadClient:
    """Open a client. No request is made yet."""
    kind = CLIENTS.get(config.kind)
    if kind is None:
        raise BadSettings(f"There is no download client {config.kind!r}.")
    if kind.usual_path:
        base = config.url.rstrip("/")
        has_path = "/" in base.partition("://")[2]
        config = replace(config, url=base if has_path else base + kind.usual_path)
    return kind(ClientConnection(config, limits, user_agent))
