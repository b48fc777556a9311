"""Every kind of download client, by name."""

from headwater.adapters.downloaders.aria2 import Aria2
from headwater.adapters.downloaders.link import ClientPlan, Link
from headwater.adapters.downloaders.qbittorrent import QBittorrent
from headwater.adapters.downloaders.transmission import Transmission
from headwater.adapters.web_limits import WebLimits
from headwater.errors import BadSettings
from headwater.media_ports import Downloader


def open_downloader(plan: ClientPlan, limits: WebLimits, user_agent: str) -> Downloader:
    """Nothing is asked yet. An aria2 or Transmission without a path is at its usual one."""
    match plan.kind:
        case "qbittorrent":
            return QBittorrent(Link(plan, limits, user_agent))
        case "transmission":
            return Transmission(Link(_at(plan, "/transmission/rpc"), limits, user_agent))
        case "aria2":
            return Aria2(Link(_at(plan, "/jsonrpc"), limits, user_agent))
    raise BadSettings(f"There is no download client {plan.kind!r}.")


def _at(plan: ClientPlan, usual: str) -> ClientPlan:
    base = plan.url.rstrip("/")
    has_path = "/" in base.partition("://")[2]
    url = base if has_path else base + usual
    return ClientPlan(
        plan.kind, url, plan.username, plan.password, plan.category, plan.tag, plan.deadline
    )
