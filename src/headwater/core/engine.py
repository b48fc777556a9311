"""What a visit works with: the outside world through ports, and the policies it keeps to."""

import asyncio
from dataclasses import dataclass, field

from headwater.anime.decide.policy import ReleasePolicy
from headwater.anime.downloads.download_services import DownloadServices
from headwater.core.concurrency import KeyedLocks
from headwater.core.ports import Clock, Database, Vault
from headwater.core.telemetry.trace import NO_TRACER, Tracer
from headwater.core.values.ids import WorkerId
from headwater.feeds.fetch.request_feed import FetchPolicy
from headwater.feeds.merge.read_document import ReadingPolicy
from headwater.feeds.ports import Blobs, Parsers
from headwater.feeds.schedule.policy import SchedulePolicy
from headwater.feeds.worker.host_turns import HostPacing
from headwater.personal_feeds.ports import PersonalStore
from headwater.personal_feeds.served_feeds import PersonalFeeds
from headwater.sinks.ports import SinkKinds
from headwater.subscriptions.conflicts.evidence import EvidencePolicy
from headwater.subscriptions.fetchers.builtin import BUILTINS, BuiltinFetcher
from headwater.subscriptions.fetchers.ports import FetcherClient
from headwater.subscriptions.fetchers.rank_candidates import BroadcastPolicy
from headwater.web.ports import Web


@dataclass(frozen=True, slots=True)
class VisitRules:
    """Thresholds of the product's own: when a move, an absence or a flood is believed."""

    moved_after_count: int = 3
    moved_after_hours: float = 24.0
    failing_after: int = 3
    whole_fetch_days: float = 28.0
    max_new_entries_per_day: int = 5_000
    parser_deaths_allowed: int = 2
    learning: EvidencePolicy = field(default=EvidencePolicy())


@dataclass(slots=True)
class Engine:
    """One per process. `woken` is set when somebody made a feed due before its time; `adding` is
    who adds a feed, by its URL. Without `media` nothing is downloaded."""

    clock: Clock
    web: Web
    fetchers: FetcherClient
    blobs: Blobs
    parsers: Parsers
    database: Database
    vault: Vault
    outlets: SinkKinds
    personal: PersonalStore
    personal_feeds: PersonalFeeds
    fetch: FetchPolicy
    schedule: SchedulePolicy
    reading: ReadingPolicy
    rules: VisitRules
    turns: HostPacing
    worker: WorkerId
    builtins: tuple[BuiltinFetcher, ...] = BUILTINS
    broadcast: BroadcastPolicy = field(default_factory=BroadcastPolicy)
    collect: ReleasePolicy = field(default_factory=ReleasePolicy)
    media: DownloadServices | None = None
    woken: asyncio.Event = field(default_factory=asyncio.Event)
    adding: KeyedLocks = field(default_factory=KeyedLocks)
    tracer: Tracer = NO_TRACER
