"""The status over HTTP: a minimal health check for everybody, all figures for the operator."""

import sys

from lxml import etree
from starlette.requests import Request

from headwater import __version__
from headwater.core import database_rows
from headwater.core.ports import Database
from headwater.entrypoints.api.dependencies import App, View
from headwater.entrypoints.api.router import Router
from headwater.entrypoints.api.single_flight import SingleFlight
from headwater.entrypoints.api.system.status_records import (
    CountsRecord,
    Health,
    Status,
    VersionsRecord,
    WorkerRecord,
)
from headwater.events import event_rows
from headwater.feeds.entries import entry_search_rows
from headwater.feeds.raw import raw_rows
from headwater.feeds.schedule import schedule_rows
from headwater.feeds.worker import worker_rows

router = Router(tags=["status"])


@router.get("/healthz", right=None)
async def health(request: Request) -> Health:
    """200 when Headwater answers and its database does. Open to everybody, says nothing more."""
    probe: SingleFlight[None] = request.app.state.database_probe
    await probe.answer()
    return Health(status="ok")


def database_probe(database: Database) -> SingleFlight[None]:
    """Ask whether the database answers. One per app."""

    async def ask() -> None:
        async with database.read() as view:
            await database_rows.check_database_answers(view)

    return SingleFlight(database, ask)


@router.get("/status", right="admin")
async def status(app: App, view: View) -> Status:
    """Versions, counts, workers, and how late the longest-waiting feed is."""
    now = app.clock.now()
    load = await schedule_rows.get_schedule_load(view, now)
    workers = await worker_rows.list_workers(view)
    lag = (now - load.oldest_due_at).total_seconds() if load.oldest_due_at else 0.0
    return Status(
        now=now,
        versions=VersionsRecord(
            headwater=__version__,
            python=".".join(str(part) for part in sys.version_info[:3]),
            libxml2=".".join(str(part) for part in etree.LIBXML_VERSION),
            database=await database_rows.get_database_version(view),
        ),
        counts=CountsRecord(
            feeds=load.by_state,
            feeds_due=load.due,
            feeds_being_visited=load.claimed,
            feeds_failing=load.failing,
            entries=await entry_search_rows.count_entries(view),
            raw_fetches=await raw_rows.count_raw_fetches(view),
            events=await event_rows.get_last_seq(view),
        ),
        workers=[
            WorkerRecord.of(worker, heartbeat_age_sec=(now - worker.heartbeat_at).total_seconds())
            for worker in workers
        ],
        lag_sec=max(0.0, lag),
    )
