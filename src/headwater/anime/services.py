"""The services of releases: what decides on them, follows their feeds and downloads them."""

from dataclasses import dataclass

from headwater.anime.decide.policy import ReleasePolicy
from headwater.anime.downloads.download_services import DownloadServices
from headwater.core.ports import Clock, Database
from headwater.sinks.services import SinkServices
from headwater.subscriptions.services import RegistryServices


@dataclass(frozen=True, slots=True)
class ReleaseServices:
    """Nothing is downloaded without `downloads`."""

    database: Database
    clock: Clock
    policy: ReleasePolicy
    registry: RegistryServices
    sinks: SinkServices
    downloads: DownloadServices | None = None
