"""All services of a process, area by area."""

from dataclasses import dataclass

from headwater.anime.services import ReleaseServices
from headwater.core.ports import Clock, Database
from headwater.feeds.services import FeedServices
from headwater.personal_feeds.services import PersonalServices
from headwater.sinks.services import SinkServices
from headwater.subscriptions.services import RegistryServices


@dataclass(frozen=True, slots=True)
class Services:
    """The services of every area, for wiring and entrypoints. A function of an area gets the
    services of that area, or the database alone."""

    database: Database
    clock: Clock
    feeds: FeedServices
    registry: RegistryServices
    sinks: SinkServices
    personal: PersonalServices
    releases: ReleaseServices
