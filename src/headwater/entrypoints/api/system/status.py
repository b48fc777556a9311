"""How it goes: a minimal health check for everybody, the whole picture for the operator."""

import sys

from lxml import etree
from starlette.requests import Request
from starlette.responses import Response

from headwater import __version__
from headwater.core import database_rows
from headwater.core.ports import Database
from headwater.entrypoints.api.dependencies import RouteContext, json_response
from headwater.entrypoints.api.records import Moment, Record
from headwater.entrypoints.api.router import Router
from headwater.entrypoints.api.single_flight import SingleFlight
from headwater.events import event_rows
from headwater.feeds.entries import entry_search_rows
from headwater.feeds.raw import raw_rows
from headwater.feeds.schedule import schedule_rows
from headwater.feeds.worker import worker_rows

router = Router(tags=["status"])


class Health(Record):
    status: str


class VersionsRecord(Record):
    headwater: str
    python: str
    libxml2: str
    database: str


class CountsRecord(Record):
    feeds: dict[str, int]
    feeds_due: int
    feeds_being_visited: int
    feeds_failing: int
    entries: int
    raw_fetches: int
    events: int


class WorkerRecord(Record):
    worker_id: str
    host: str
    pid: int
    started_at: Moment
    heartbeat_at: Moment
    heartbeat_age_sec: float


class Status(Record):
    """`lag_sec`: how long the longest-waiting feed is overdue."""

    now: Moment
    versions: VersionsRecord
    counts: CountsRecord
    workers: list[WorkerRecord]
    lag_sec: float


@router.get("/healthz", right=None, response_model=Health)
async def health(request: Request) -> Response:
    """200 when Headwater answers and its database does. Open to everybody, says nothing more."""
    pulse: SingleFlight[None] = request.app.state.pulse
    await pulse.answer()
    return json_response(Health(status="ok"))


def database_probe(database: Database) -> SingleFlight[None]:
    """Whether the database answers; one per app."""

    async def feel() -> None:
        async with database.read() as view:
            await database_rows.check_database_answers(view)

    return SingleFlight(database, feel)


@router.get("/status", right="admin", response_model=Status)
async def status(at: RouteContext) -> Response:
    """Versions, counts, workers, and how late the longest-waiting feed is."""
    now = at.clock.now()
    async with at.database.read() as view:
        load = await schedule_rows.get_schedule_load(view, now)
        workers = await worker_rows.list_workers(view)
        database = await database_rows.get_database_version(view)
        counts = CountsRecord(
            feeds=load.by_state,
            feeds_due=load.due,
            feeds_being_visited=load.claimed,
            feeds_failing=load.failing,
            entries=await entry_search_rows.count_entries(view),
            raw_fetches=await raw_rows.count_raw_fetches(view),
            events=await event_rows.get_last_seq(view),
        )
    lag = (now - load.oldest_due_at).total_seconds() if load.oldest_due_at else 0.0
    return json_response(
        Status(
            now=now,
            versions=_versions(database),
            counts=counts,
            workers=[
                WorkerRecord(
                    worker_id=worker.worker_id,
                    host=worker.host,
                    pid=worker.pid,
                    started_at=worker.started_at,
                    heartbeat_at=worker.heartbeat_at,
                    heartbeat_age_sec=(now - worker.heartbeat_at).total_seconds(),
                )
                for worker in workers
            ],
            lag_sec=max(0.0, lag),
        )
    )


def _versions(database: str) -> VersionsRecord:
    return VersionsRecord(
        headwater=__version__,
        python=".".join(str(part) for part in sys.version_info[:3]),
        libxml2=".".join(str(part) for part in etree.LIBXML_VERSION),
        database=database,
    )
