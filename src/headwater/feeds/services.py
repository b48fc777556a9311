"""The services that a visit of a feed works with, made once for a process."""

from dataclasses import dataclass

from headwater.core.ports import Clock, Database
from headwater.core.telemetry.trace import Tracer
from headwater.core.values.ids import WorkerId
from headwater.feeds.fetch.polite_fetcher import PoliteFetcher
from headwater.feeds.ports import Blobs, Keyrings, Parsers
from headwater.feeds.read_document import ReadingPolicy
from headwater.feeds.schedule.policy import SchedulePolicy
from headwater.feeds.visit_commits import VisitCommits
from headwater.feeds.visit_rules import VisitRules


@dataclass(frozen=True, slots=True)
class FeedServices:
    """One for each process. `worker` is the name under which the process claims feeds."""

    database: Database
    clock: Clock
    blobs: Blobs
    parsers: Parsers
    keyrings: Keyrings
    fetcher: PoliteFetcher
    commits: VisitCommits
    schedule: SchedulePolicy
    reading: ReadingPolicy
    rules: VisitRules
    worker: WorkerId
    tracer: Tracer
