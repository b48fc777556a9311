"""What a visit works with: the outside world through ports, and the policies it keeps to."""

from dataclasses import dataclass, field

from headwater.anime.decide.policy import ReleasePolicy
from headwater.anime.downloads.download_services import DownloadServices
from headwater.core.concurrency import KeyedLocks
from headwater.core.ports import Clock, Database, Vault
from headwater.core.telemetry.trace import NO_TRACER, Tracer
from headwater.core.values.ids import WorkerId
from headwater.feeds.commit_visits import CommitServices
from headwater.feeds.fetch.host_turns import HostPacing
from headwater.feeds.fetch.polite_fetcher import PoliteFetcher
from headwater.feeds.fetch.request_feed import FetchPolicy
from headwater.feeds.ports import Blobs, Parsers
from headwater.feeds.read_document import ReadingPolicy
from headwater.feeds.schedule.policy import SchedulePolicy
from headwater.feeds.services import FeedServices
from headwater.feeds.visit_commits import VisitCommits
from headwater.feeds.visit_rules import VisitRules
from headwater.personal_feeds.ports import PersonalStore
from headwater.personal_feeds.served_feeds import PersonalFeeds
from headwater.sinks.sink_kind import SinkKinds
from headwater.subscriptions.conflicts.evidence import EvidencePolicy
from headwater.subscriptions.fetchers.builtin import BUILTINS, BuiltinFetcher
from headwater.subscriptions.fetchers.ports import FetcherClient
from headwater.subscriptions.fetchers.rank_candidates import BroadcastPolicy
from headwater.subscriptions.seal_credentials import SealedKeyrings
from headwater.web.ports import Web


@dataclass(slots=True)
class Engine:
    """One per process. `adding` is who adds a feed, by its URL. Without `media` nothing is
    downloaded."""

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
    adding: KeyedLocks = field(default_factory=KeyedLocks)
    tracer: Tracer = NO_TRACER
    evidence: EvidencePolicy = field(default=EvidencePolicy())

    @property
    def feeds(self) -> FeedServices:
        return FeedServices(
            database=self.database,
            clock=self.clock,
            blobs=self.blobs,
            parsers=self.parsers,
            keyrings=SealedKeyrings(self.database, self.vault),
            fetcher=PoliteFetcher(
                self.web, self.turns, self.clock, self.fetch, self.schedule.initial_interval
            ),
            commits=VisitCommits(
                CommitServices(self.database, self.schedule, self.rules, self.worker), self.blobs
            ),
            schedule=self.schedule,
            reading=self.reading,
            rules=self.rules,
            worker=self.worker,
            tracer=self.tracer,
        )
