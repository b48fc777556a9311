"""The parts that the services of a test are made of. A test may exchange each of them."""

from dataclasses import dataclass, field

from headwater.anime.decide.policy import ReleasePolicy
from headwater.anime.downloads.download_services import DownloadServices
from headwater.anime.services import ReleaseServices
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
from headwater.personal_feeds.services import PersonalServices
from headwater.sinks.services import SinkServices
from headwater.sinks.sink_kind import SinkKinds
from headwater.subscriptions.conflicts.evidence import EvidencePolicy
from headwater.subscriptions.fetchers.builtin import BUILTINS, BuiltinFetcher
from headwater.subscriptions.fetchers.ports import FetcherClient
from headwater.subscriptions.fetchers.rank_candidates import BroadcastPolicy
from headwater.subscriptions.seal_credentials import SealedKeyrings
from headwater.subscriptions.services import RegistryServices
from headwater.web.ports import Web
from headwater.wiring.services import Services


@dataclass(slots=True)
class EngineParts:
    """Services are made anew whenever they are asked for: a part that was exchanged is in them."""

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
    evidence: EvidencePolicy = field(default_factory=EvidencePolicy)

    @classmethod
    def of(cls, services: Services) -> "EngineParts":
        """The parts of services that were made as the service makes them."""
        feeds, registry = services.feeds, services.registry
        return cls(
            clock=services.clock,
            web=feeds.fetcher.web,
            fetchers=registry.fetchers,
            blobs=feeds.blobs,
            parsers=feeds.parsers,
            database=services.database,
            vault=registry.vault,
            outlets=services.sinks.kinds,
            personal=services.personal.store,
            personal_feeds=services.personal.served,
            fetch=feeds.fetcher.policy,
            schedule=feeds.schedule,
            reading=feeds.reading,
            rules=feeds.rules,
            turns=feeds.fetcher.turns,
            worker=feeds.worker,
            builtins=registry.builtins,
            broadcast=registry.broadcast,
            collect=services.releases.policy,
            media=services.releases.downloads,
            adding=registry.adding,
            tracer=feeds.tracer,
            evidence=registry.evidence,
        )

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

    @property
    def registry(self) -> RegistryServices:
        return RegistryServices(
            self.database,
            self.clock,
            self.vault,
            self.feeds,
            self.fetchers,
            self.builtins,
            self.broadcast,
            self.evidence,
            self.adding,
        )

    @property
    def sinks(self) -> SinkServices:
        return SinkServices(self.database, self.clock, self.vault, self.outlets)

    @property
    def personal_services(self) -> PersonalServices:
        return PersonalServices(
            self.database, self.clock, self.personal, self.personal_feeds, self.sinks
        )

    @property
    def releases(self) -> ReleaseServices:
        return ReleaseServices(
            self.database, self.clock, self.collect, self.registry, self.sinks, self.media
        )

    @property
    def services(self) -> Services:
        releases = self.releases
        return Services(
            self.database,
            self.clock,
            releases.registry.feeds,
            releases.registry,
            self.sinks,
            self.personal_services,
            releases,
        )
