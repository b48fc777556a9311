"""Every kind of download client, by name."""

from headwater.anime.download_clients.aria2 import Aria2
from headwater.anime.download_clients.connection import ClientConnection, DownloadClientConfig
from headwater.anime.download_clients.qbittorrent import QBittorrent
from headwater.anime.download_clients.transmission import Transmission
from headwater.anime.downloads.ports import DownloadClient
from headwater.core.errors import BadSettings
from headwater.web.limits import WebLimits


def open_download_client(
    plan: DownloadClientConfig, limits: WebLimits, user_agent: str
) -> DownloadClient:
    """Nothing is asked yet. An aria2 or Transmission without a path is at its usual one."""
    match plan.kind:
        case "qbittorrent":
            return QBittorrent(ClientConnection(plan, limits, user_agent))
        case "transmission":
            return Transmission(
                ClientConnection(_with_default_path(plan, "/transmission/rpc"), limits, user_agent)
            )
        case "aria2":
            return Aria2(ClientConnection(_with_default_path(plan, "/jsonrpc"), limits, user_agent))
    raise BadSettings(f"There is no download client {plan.kind!r}.")


def _with_default_path(plan: DownloadClientConfig, usual: str) -> DownloadClientConfig:
    base = plan.url.rstrip("/")
    has_path = "/" in base.partition("://")[2]
    url = base if has_path else base + usual
    return DownloadClientConfig(
        plan.kind, url, plan.username, plan.password, plan.category, plan.tag, plan.deadline
    )
