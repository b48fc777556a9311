"""All checks of `headwater doctor`: those that need the database, the service or the machine."""

import asyncio
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from headwater.core.errors import HeadwaterError
from headwater.entrypoints.cli.personal_copy import inspect_personal_store
from headwater.entrypoints.cli.session import Session
from headwater.entrypoints.cli.system.check import Check, CheckState
from headwater.entrypoints.cli.system.machine_checks import (
    CLOCK_SECONDS,
    clock_checks,
    contact_checks,
    data_folder_checks,
    open_file_checks,
    version_checks,
)
from headwater.entrypoints.cli.system.media_checks import media_checks
from headwater.entrypoints.server.data_folder import running_service
from headwater.entrypoints.server.schema import inspect_database, inspect_secrets
from headwater.feeds.schedule.durations import format_count, format_duration
from headwater.settings import Settings

LAG_SECONDS = 300.0


def all_checks(session: Session) -> Iterator[Check]:
    settings = session.settings
    yield from version_checks()
    yield from data_folder_checks(settings)
    yield from clock_checks(settings)
    yield from open_file_checks(settings)
    yield from contact_checks(settings)
    yield from media_checks(settings)
    yield _service_check(settings)
    database = list(_database_checks(settings))
    yield from database
    has_schema = any(check.name == "schema" and check.state == "ok" for check in database)
    if has_schema:
        yield _secret_key_check(settings)
        yield from _personal_feed_checks(settings)
    if session.elsewhere or has_schema:
        yield from status_checks(session)


def _service_check(settings: Settings) -> Check:
    try:
        notice = running_service(settings.data_dir)
    except HeadwaterError as trouble:
        return Check("service", "error", "cannot be found", trouble.message)
    if notice is None:
        return Check("service", "warning", "not running", "Start it with `headwater run`.")
    return Check("service", "ok", f"{notice.url} since {notice.started_at}, process {notice.pid}")


def _database_checks(settings: Settings) -> Iterator[Check]:
    if settings.is_embedded and not _database_file(settings).exists():
        yield Check("database", "warning", "none yet", "`headwater run` makes it.")
        return
    try:
        database = asyncio.run(inspect_database(settings))
    except HeadwaterError as trouble:
        todo = "Is DATABASE_URL right, is it running?"
        if settings.is_embedded:
            todo = "Has its disk room, may the folder be written, is the file whole?"
        yield Check("database", "error", trouble.message, todo)
        return
    yield Check("database", "ok", database.version)
    if database.schema == database.newest:
        yield Check("schema", "ok", database.newest)
    elif database.is_newer:
        todo = "Install the version that made it or a newer one, or use a database of its own."
        yield Check("schema", "error", f"{database.schema} is unknown to this version", todo)
    else:
        saw = f"{database.schema or 'empty'}, newest is {database.newest}"
        yield Check("schema", "error", saw, "Run `headwater migrate`.")
    if abs(database.now - time.time()) > CLOCK_SECONDS:
        saw = f"the database's differs by {abs(database.now - time.time()):.0f} s"
        yield Check("clocks", "warning", saw, "Let both machines use NTP.")


def _secret_key_check(settings: Settings) -> Check:
    """Check that the secret key opens stored credentials, and that other machines have it."""
    try:
        secrets = asyncio.run(inspect_secrets(settings))
    except HeadwaterError as trouble:
        return Check("secret key", "error", trouble.message, "Correct HEADWATER_SECRET_KEY.")
    count = format_count(secrets.sealed, "secret", "secrets")
    if secrets.locked:
        todo = "Put the key back that sealed them, or set these credentials again."
        return Check("secret key", "error", f"{secrets.locked} of {count} cannot be opened", todo)
    if secrets.older:
        todo = "Leave the old key behind the new one until housekeeping is done."
        return Check("secret key", "ok", f"{count}, {secrets.older} sealed with an older key", todo)
    if secrets.sealed and not settings.is_embedded and settings.secret_keys is None:
        todo = "Other machines need it too: set HEADWATER_SECRET_KEY on all of them."
        return Check("secret key", "warning", f"{count}, the key is on this machine only", todo)
    return Check("secret key", "ok", count)


def _personal_feed_checks(settings: Settings) -> Iterator[Check]:
    """Check Redis, if personal feeds are there: that it runs, and that it stores data on disk."""
    if settings.personal_store != "redis":
        return
    try:
        trouble = asyncio.run(inspect_personal_store(settings))
    except HeadwaterError as error:
        todo = "Is personal_redis_url right, is it running?"
        yield Check("personal feeds", "error", error.message, todo)
        return
    if trouble is None:
        yield Check("personal feeds", "ok", "in Redis, which keeps them on disk")
    else:
        todo = "Change its settings, or set personal_store to database."
        yield Check("personal feeds", "warning", trouble, todo)


def _database_file(settings: Settings) -> Path:
    return Path(unquote(settings.where_database.partition("///")[2]))


def status_checks(session: Session) -> Iterator[Check]:
    """Ask the service for its workers, or tell why it does not answer."""
    try:
        with session.api() as api:
            status = api.get("/status")
    except HeadwaterError as trouble:
        refused = trouble.status in {401, 403}
        todo = "Set HEADWATER_TOKEN." if refused else "Look at the service's log."
        yield Check("status", "error", trouble.message, todo)
        return
    yield from worker_checks(status, session.settings.lease_seconds)


def worker_checks(status: dict[str, Any], lease_seconds: float) -> Iterator[Check]:
    """Check the status of the API: which workers live, and whether a feed waits too long."""
    alive = [worker for worker in status["workers"] if worker["heartbeat_age_sec"] <= lease_seconds]
    feeds = sum(status["counts"]["feeds"].values())
    if alive:
        names = (f"{worker['host']} (process {worker['pid']})" for worker in alive)
        yield Check("workers", "ok", ", ".join(names))
    else:
        state: CheckState = "error" if feeds else "warning"
        yield Check("workers", state, "nobody visits feeds", "Start `headwater run` or `work`.")
    yield _lag_check(status["lag_sec"], any_worker=bool(alive))
    failing = status["counts"]["feeds_failing"]
    saw = f"{format_count(feeds, 'feed', 'feeds')}, {failing} failing"
    todo = "See `headwater list`, then `headwater visits FEED`." if failing else ""
    yield Check("feeds", "warning" if failing else "ok", saw, todo)


def _lag_check(seconds: float, *, any_worker: bool) -> Check:
    if seconds <= LAG_SECONDS:
        return Check("lag", "ok", f"{format_duration(seconds)} behind at most")
    todo = "Raise visits_at_once, or add a worker." if any_worker else "Start a worker."
    return Check("lag", "warning", f"a feed waits since {format_duration(seconds)}", todo)
