"""A whole engine for tests: everything real but the clock, which the test owns."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from headwater.adapters.blobs import FolderBlobs
from headwater.adapters.database import SqlDatabase
from headwater.adapters.fetchers import HttpFetchers
from headwater.adapters.outlets.kinds import EveryOutlet
from headwater.adapters.outlets.personal import WithPersonal
from headwater.adapters.outlets.releases import WithReleases
from headwater.adapters.parsers import ProcessParsers
from headwater.adapters.personal_database import PersonalDatabase
from headwater.adapters.vault import open_vault
from headwater.adapters.web import CurlWeb
from headwater.adapters.web_limits import WebLimits
from headwater.collect.policy import CollectPolicy
from headwater.engine import Engine, Rules
from headwater.fetch.address import address_policy
from headwater.fetch.steps import FetchPolicy
from headwater.fetch.turns import TurnPolicy, Turns
from headwater.merge.reading import ReadingPolicy
from headwater.personal import PersonalFeeds, PersonalPolicy
from headwater.ports import Clock
from headwater.publish.river.entry import RiverPolicy
from headwater.schedule.policy import Policy
from headwater.values.ids import WorkerId

USER_AGENT = "Headwater/test (+https://example.org/about)"


@asynccontextmanager
async def opened_engine(
    database: SqlDatabase, clock: Clock, folder: Path, *, worker: str = "tester"
) -> AsyncIterator[Engine]:
    """Shipped defaults, except that loopback may be asked."""
    addresses = address_policy(["127.0.0.0/8"])
    web, parsers = CurlWeb(WebLimits(), addresses), ProcessParsers(count=1)
    fetchers = HttpFetchers(WebLimits(), addresses, clock=clock, user_agent=USER_AGENT)
    blobs = FolderBlobs(folder)
    outlets = EveryOutlet(
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
        yield Engine(
            clock=clock,
            web=web,
            fetchers=fetchers,
            blobs=blobs,
            parsers=parsers,
            database=database,
            vault=open_vault(None, folder / "secret.key"),
            outlets=WithReleases(
                WithPersonal(
                    outlets, store=personal, database=database, clock=clock, policy=RiverPolicy()
                ),
                database=database,
                clock=clock,
                policy=CollectPolicy(),
            ),
            personal=personal,
            personal_feeds=feeds,
            fetch=FetchPolicy(user_agent=USER_AGENT, address=addresses),
            schedule=Policy(),
            reading=ReadingPolicy(),
            rules=Rules(),
            turns=Turns(TurnPolicy()),
            worker=WorkerId(worker),
        )
    finally:
        await feeds.close()
        await personal.close()
        await parsers.close()
        await fetchers.close()
        await web.close()
