"""What a visit works with: the outside world through ports, and the policies it keeps to."""

import asyncio
from dataclasses import dataclass, field

from headwater.collect.policy import CollectPolicy
from headwater.fetch.steps import FetchPolicy
from headwater.fetch.turns import Turns
from headwater.media import Media
from headwater.merge.reading import ReadingPolicy
from headwater.personal import PersonalFeeds
from headwater.ports import (
    Blobs,
    Clock,
    Database,
    Fetchers,
    Outlets,
    Parsers,
    PersonalStore,
    Vault,
    Web,
)
from headwater.schedule.policy import Policy
from headwater.subscribe.assignment import BroadcastPolicy
from headwater.subscribe.builtin import BUILTINS, Builtin
from headwater.subscribe.evidence import Learning
from headwater.telemetry.trace import OFF, Tracer
from headwater.together import OneByOne
from headwater.values.ids import WorkerId


@dataclass(frozen=True, slots=True)
class Rules:
    """Thresholds of the product's own: when a move, an absence or a flood is believed."""

    moved_after_count: int = 3
    moved_after_hours: float = 24.0
    failing_after: int = 3
    whole_fetch_days: float = 28.0
    max_new_entries_per_day: int = 5_000
    parser_deaths_allowed: int = 2
    learning: Learning = field(default=Learning())


@dataclass(slots=True)
class Engine:
    """One per process. `woken` is set when somebody made a feed due before its time; `adding` is
    who adds a feed, by its URL. Without `media` nothing is downloaded."""

    clock: Clock
    web: Web
    fetchers: Fetchers
    blobs: Blobs
    parsers: Parsers
    database: Database
    vault: Vault
    outlets: Outlets
    personal: PersonalStore
    personal_feeds: PersonalFeeds
    fetch: FetchPolicy
    schedule: Policy
    reading: ReadingPolicy
    rules: Rules
    turns: Turns
    worker: WorkerId
    builtins: tuple[Builtin, ...] = BUILTINS
    broadcast: BroadcastPolicy = field(default_factory=BroadcastPolicy)
    collect: CollectPolicy = field(default_factory=CollectPolicy)
    media: Media | None = None
    woken: asyncio.Event = field(default_factory=asyncio.Event)
    adding: OneByOne = field(default_factory=OneByOne)
    tracer: Tracer = OFF
