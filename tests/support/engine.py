"""A whole engine for tests: everything real but the clock, which the test owns."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from headwater.adapters.blobs import FolderBlobs
from headwater.adapters.database import SqlDatabase
from headwater.adapters.parse_processes.pool import ProcessParsers
from headwater.adapters.vault import open_vault
from headwater.anime.decide.policy import ReleasePolicy
from headwater.core.ports import Clock
from headwater.core.values.ids import WorkerId
from headwater.feeds.fetch.host_turns import HostPacing, PacingPolicy
from headwater.feeds.fetch.request_feed import FetchPolicy
from headwater.feeds.read_document import ReadingPolicy
from headwater.feeds.schedule.policy import SchedulePolicy
from headwater.feeds.visit_rules import VisitRules
from headwater.personal_feeds.database_store import PersonalDatabase
from headwater.personal_feeds.items_from_entries import EntryItemPolicy
from headwater.personal_feeds.served_feeds import PersonalFeeds, PersonalPolicy
from headwater.sinks.sink_kind import SinkResources
from headwater.subscriptions.fetchers.fetcher_client import HttpFetcherClient
from headwater.web.address_gate import build_address_policy
from headwater.web.http_client import CurlWeb
from headwater.web.limits import WebLimits
from headwater.wiring.sink_kinds import build_sink_kinds
from tests.support.engine_parts import EngineParts

USER_AGENT = "Headwater/test (+https://example.org/about)"


@asynccontextmanager
async def opened_engine(
    database: SqlDatabase, clock: Clock, folder: Path, *, worker: str = "tester"
) -> AsyncIterator[EngineParts]:
    """Shipped defaults, except that loopback may be asked."""
    database.clock = clock
    addresses = build_address_policy(["127.0.0.0/8"])
    web, parsers = CurlWeb(WebLimits(), addresses), ProcessParsers(count=1)
    fetchers = HttpFetcherClient(WebLimits(), addresses, clock=clock, user_agent=USER_AGENT)
    blobs = FolderBlobs(folder)
    resources = SinkResources(
        web_limits=WebLimits(),
        address=addresses,
        clock=clock,
        user_agent=USER_AGENT,
        database=database,
        blobs=blobs,
        out_dir=folder / "out",
    )
    personal = PersonalDatabase(database, clock)
    feeds = PersonalFeeds(personal, clock, PersonalPolicy())
    try:
        yield EngineParts(
            clock=clock,
            web=web,
            fetchers=fetchers,
            blobs=blobs,
            parsers=parsers,
            database=database,
            vault=open_vault(None, folder / "secret.key"),
            outlets=build_sink_kinds(
                resources, personal, entry_items=EntryItemPolicy(), releases=ReleasePolicy()
            ),
            personal=personal,
            personal_feeds=feeds,
            fetch=FetchPolicy(user_agent=USER_AGENT, address=addresses),
            schedule=SchedulePolicy(),
            reading=ReadingPolicy(),
            rules=VisitRules(),
            turns=HostPacing(PacingPolicy()),
            worker=WorkerId(worker),
        )
    finally:
        await feeds.close()
        await personal.close()
        await parsers.close()
        await fetchers.close()
        await web.close()
