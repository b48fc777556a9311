"""A fetcher: it can visit some source URLs, and is built in or registered."""

from dataclasses import dataclass
from datetime import datetime

from headwater.core.values.ids import FetcherId
from headwater.core.values.keep import KEEP, Keep

USUAL_FETCHER_PRIORITY = 50
"""The usual priority of a registered fetcher: before the built-in one for any feed."""

IN_PROCESS = "inproc:"
"""A built-in fetcher's `base_url` is this and its name: it is asked in process."""


@dataclass(frozen=True, slots=True)
class Fetcher:
    """A fetcher that can be asked to visit. `priority` is ours: no answer of it changes that.

    `wants_news`: news of subscriptions is posted to it. `config_schema` is a JSON Schema as text.
    """

    id: FetcherId
    name: str
    version: str
    description: str | None
    base_url: str
    priority: int
    is_enabled: bool
    config_schema: str | None
    wants_news: bool
    last_seen_at: datetime | None
    created_at: datetime
    updated_at: datetime

    @property
    def is_builtin(self) -> bool:
        return self.base_url.startswith(IN_PROCESS)

    @property
    def builtin_name(self) -> str | None:
        return self.base_url.removeprefix(IN_PROCESS) if self.is_builtin else None


@dataclass(frozen=True, slots=True)
class Registration:
    """The registration of a service as a fetcher, in the service's own words."""

    name: str
    version: str
    description: str | None
    base_url: str
    priority: int
    config_schema: str | None
    wants_news: bool


@dataclass(frozen=True, slots=True)
class FetcherPatch:
    """A change of a fetcher by an operator."""

    priority: int | Keep = KEEP
    is_enabled: bool | Keep = KEEP
    base_url: str | Keep = KEEP
    version: str | Keep = KEEP
    description: str | Keep | None = KEEP
    config_schema: str | Keep | None = KEEP
    wants_news: bool | Keep = KEEP


def rank_fetchers(fetchers: list[Fetcher]) -> list[Fetcher]:
    """The highest priority first, and of equals the oldest."""
    return sorted(fetchers, key=lambda fetcher: (-fetcher.priority, fetcher.id))
