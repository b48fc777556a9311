"""The services of releases: the parts that decide on them, follow their feeds, download them."""

from dataclasses import dataclass

from headwater.anime.decide.policy import ReleasePolicy
from headwater.anime.downloads.download_services import DownloadServices
from headwater.core.ports import Clock, Database
from headwater.sinks.services import SinkServices
from headwater.subscriptions.services import RegistryServices


@dataclass(frozen=True, slots=True)
class ReleaseServices:
    """Without `downloads`, nothing is downloaded."""

    database: Database
    clock: Clock
    policy: ReleasePolicy
    registry: RegistryServices
    sinks: SinkServices
    downloads: DownloadServices | None = None
