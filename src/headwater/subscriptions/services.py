"""The services that the registry of subscriptions works with."""

from dataclasses import dataclass, field

from headwater.core.concurrency import KeyedLocks
from headwater.core.ports import Clock, Database, Vault
from headwater.feeds.services import FeedServices
from headwater.subscriptions.conflicts.evidence import EvidencePolicy
from headwater.subscriptions.fetchers.builtin import BUILTINS, BuiltinFetcher
from headwater.subscriptions.fetchers.ports import FetcherClient
from headwater.subscriptions.fetchers.rank_candidates import BroadcastPolicy


@dataclass(frozen=True, slots=True)
class RegistryServices:
    """`adding` has a lock for each URL: requests that add the same one wait for each other."""

    database: Database
    clock: Clock
    vault: Vault
    feeds: FeedServices
    fetchers: FetcherClient
    builtins: tuple[BuiltinFetcher, ...] = BUILTINS
    broadcast: BroadcastPolicy = field(default_factory=BroadcastPolicy)
    evidence: EvidencePolicy = field(default_factory=EvidencePolicy)
    adding: KeyedLocks = field(default_factory=KeyedLocks)
