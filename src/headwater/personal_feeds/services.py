"""The services of personal feeds: where they are stored, and how they are served."""

from dataclasses import dataclass

from headwater.core.ports import Clock, Database
from headwater.personal_feeds.ports import PersonalStore
from headwater.personal_feeds.served_feeds import PersonalFeeds
from headwater.sinks.services import SinkServices


@dataclass(frozen=True, slots=True)
class PersonalServices:
    """Readers, tokens and items are in `store`. `served` caches frequent answers."""

    database: Database
    clock: Clock
    store: PersonalStore
    served: PersonalFeeds
    sinks: SinkServices
