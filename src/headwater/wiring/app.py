"""The application: open all services with real adapters. Only this module imports adapters."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from importlib import import_module
from typing import Protocol, TypeVar

from headwater.adapters import schema as schema
from headwater.adapters.blobs import open_blobs
from headwater.adapters.clock import SystemClock as SystemClock
from headwater.adapters.database import SqlDatabase as SqlDatabase
from headwater.adapters.database import open_database
from headwater.adapters.library_versions import libcurl_version, sqlite_version
from headwater.adapters.parse_processes.pool import ProcessLimits, ProcessParsers
from headwater.adapters.vault import SealedVault, open_vault
from headwater.anime.downloads.download_services import DownloadServices
from headwater.anime.services import ReleaseServices
from headwater.core.errors import BadSettings
from headwater.core.ports import Database, Vault
from headwater.core.telemetry.trace import NO_TRACER, Tracer
from headwater.core.values.ids import WorkerId
from headwater.feeds.commit_visits import CommitServices
from headwater.feeds.fetch.host_turns import HostPacing
from headwater.feeds.fetch.polite_fetcher import PoliteFetcher
from headwater.feeds.ports import Blobs
from headwater.feeds.services import FeedServices
from headwater.feeds.visit_commits import VisitCommits
from headwater.personal_feeds.database_store import PersonalDatabase
from headwater.personal_feeds.ports import PersonalStore
from headwater.personal_feeds.served_feeds import PersonalFeeds
from headwater.personal_feeds.services import PersonalServices
from headwater.settings import Settings
from headwater.sinks.services import SinkServices
from headwater.sinks.sink_kind import SinkKinds, SinkResources
from headwater.subscriptions.fetchers.fetcher_client import HttpFetcherClient
from headwater.subscriptions.fetchers.fetcher_plugins import load_builtins
from headwater.subscriptions.seal_credentials import SealedKeyrings
from headwater.subscriptions.services import RegistryServices
from headwater.web.http_client import CurlWeb
from headwater.web.limits import WebLimits
from headwater.wiring.downloads import open_download_services
from headwater.wiring.policies import (
    address_rules,
    broadcast_policy,
    collect_policy,
    entry_item_policy,
    evidence_policy,
    fetch_policy,
    pacing_policy,
    personal_policy,
    reading_policy,
    schedule_policy,
    visit_rules,
)
from headwater.wiring.services import Services
from headwater.wiring.sink_kinds import build_sink_kinds

LOCAL_WORKER = WorkerId("local")
"""The worker name of the command line, which may make visits without a service."""


@asynccontextmanager
async def open_services(
    settings: Settings, worker: WorkerId = LOCAL_WORKER
) -> AsyncIterator[Services]:
    """Open all that a process needs; it is closed in the opposite order."""
    clock = SystemClock()
    async with AsyncExitStack() as stack:
        # Opened first and closed last, as it records all that happens in between.
        tracer = open_tracer(settings, worker, stack)
        database = _closed_later(
            stack, open_database(settings.where_database, pool_size=settings.database_pool_size)
        )
        vault = vault_of(settings)
        blobs = _closed_later(stack, open_blobs(settings.where_blobs))
        feeds = _open_feed_services(settings, stack, database, vault, blobs, worker, tracer)
        registry = RegistryServices(
            database=database,
            clock=clock,
            vault=vault,
            feeds=feeds,
            fetchers=_closed_later(stack, open_fetchers(settings)),
            builtins=load_builtins(),
            broadcast=broadcast_policy(settings),
            evidence=evidence_policy(settings),
        )
        personal_store = _closed_later(stack, personal_store_of(settings, database))
        sinks = SinkServices(
            database=database,
            clock=clock,
            vault=vault,
            kinds=sink_kinds_of(settings, database, blobs, personal_store),
        )
        personal = PersonalServices(
            database=database,
            clock=clock,
            store=personal_store,
            served=_closed_later(
                stack, PersonalFeeds(personal_store, clock, personal_policy(settings))
            ),
            sinks=sinks,
        )
        releases = ReleaseServices(
            database=database,
            clock=clock,
            policy=collect_policy(settings),
            registry=registry,
            sinks=sinks,
            downloads=download_services_of(settings, stack),
        )
        yield Services(
            database=database,
            clock=clock,
            feeds=feeds,
            registry=registry,
            sinks=sinks,
            personal=personal,
            releases=releases,
        )


def _open_feed_services(
    settings: Settings,
    stack: AsyncExitStack,
    database: Database,
    vault: Vault,
    blobs: Blobs,
    worker: WorkerId,
    tracer: Tracer,
) -> FeedServices:
    schedule, rules = schedule_policy(settings), visit_rules(settings)
    fetcher = PoliteFetcher(
        _closed_later(stack, open_web(settings)),
        HostPacing(pacing_policy(settings)),
        database.clock,
        fetch_policy(settings),
        usual_rest=schedule.initial_interval,
    )
    parsers = _closed_later(stack, parsers_of(settings))
    commits = VisitCommits(CommitServices(database, schedule, rules, worker), blobs)
    return FeedServices(
        database=database,
        clock=database.clock,
        blobs=blobs,
        parsers=parsers,
        keyrings=SealedKeyrings(database, vault),
        fetcher=fetcher,
        commits=_closed_later(stack, commits),
        schedule=schedule,
        reading=reading_policy(settings),
        rules=rules,
        worker=worker,
        tracer=tracer,
    )


class _Closable(Protocol):
    async def close(self) -> None: ...


C = TypeVar("C", bound=_Closable)


def _closed_later(stack: AsyncExitStack, closable: C) -> C:
    """Close it when the stack ends, and return it."""
    stack.push_async_callback(closable.close)
    return closable


def parsers_of(settings: Settings) -> ProcessParsers:
    return ProcessParsers(
        count=settings.parser_processes,
        limits=ProcessLimits(
            cpu_seconds=settings.parser_cpu_seconds, memory_bytes=settings.parser_memory_bytes
        ),
    )


def open_tracer(settings: Settings, worker: WorkerId, stack: AsyncExitStack) -> Tracer:
    """Open the export of traces if the settings name a collector; else load nothing for it."""
    if settings.otlp_endpoint is None:
        return NO_TRACER
    try:
        otlp = import_module("headwater.adapters.otlp")
    except ImportError as trouble:
        raise BadSettings(
            "Traces need OpenTelemetry: install Headwater's extra `otel` (or unset otlp_endpoint)."
        ) from trouble
    headers = settings.otlp_headers
    export = otlp.trace_export(
        settings.otlp_endpoint,
        None if headers is None else headers.get_secret_value(),
        service=settings.otlp_service_name,
        instance=worker,
        end_seconds=min(5.0, settings.stop_seconds),
    )
    stack.push_async_callback(export.close)
    return Tracer(export.take, ratio=settings.trace_sample_ratio)


def vault_of(settings: Settings) -> SealedVault:
    return open_vault(settings.secret_keys, settings.where_secret_key)


def open_web(settings: Settings) -> CurlWeb:
    return CurlWeb(web_limits(settings), address_rules(settings))


def open_fetchers(settings: Settings) -> HttpFetcherClient:
    """Open the client of registered fetchers. They pass the same gate as feeds: a private address
    must be allowed by name."""
    return HttpFetcherClient(
        web_limits(settings),
        address_rules(settings),
        clock=SystemClock(),
        user_agent=settings.user_agent,
    )


def sink_kinds_of(
    settings: Settings, database: Database, blobs: Blobs, personal: PersonalStore
) -> SinkKinds:
    """Build all sink kinds. Webhooks pass the same gate as feeds; files stay inside one folder."""
    resources = SinkResources(
        web_limits=web_limits(settings),
        address=address_rules(settings),
        clock=SystemClock(),
        user_agent=settings.user_agent,
        database=database,
        blobs=blobs,
        out_dir=settings.where_out,
    )
    return build_sink_kinds(
        resources,
        personal,
        entry_items=entry_item_policy(settings),
        releases=collect_policy(settings),
    )


def personal_store_of(settings: Settings, database: Database) -> PersonalStore:
    """Open the store of personal feeds. Nothing is connected yet."""
    if settings.personal_store == "redis":
        return personal_redis_of(settings)
    return personal_database_of(database)


def personal_database_of(database: Database) -> PersonalStore:
    return PersonalDatabase(database, SystemClock())


def personal_redis_of(settings: Settings, url: str | None = None) -> PersonalStore:
    """Open the store in Redis, whatever `personal_store` is. Its client, which loads slowly, is
    imported only here."""
    configured = settings.personal_redis_url
    redis_url = configured.get_secret_value() if url is None and configured is not None else url
    if redis_url is None:
        raise BadSettings("Say where Redis is: set personal_redis_url, or name it.")
    store: PersonalStore = import_module(
        "headwater.personal_feeds.redis.store"
    ).open_personal_redis(
        redis_url,
        SystemClock(),
        days=settings.personal_days,
        rest=settings.personal_pickup_sec / 2,
        # Changes by other tools are noticed within a minute, with as little work as that needs.
        rounds=max(1, int(60 / settings.personal_pickup_sec)),
    )
    return store


def download_services_of(settings: Settings, stack: AsyncExitStack) -> DownloadServices | None:
    """Open the services of downloads, if the settings name a client."""
    return open_download_services(settings, stack, web_limits(settings), address_rules(settings))


def library_versions() -> dict[str, str]:
    """Versions of the compiled libraries that only adapters may touch; the doctor shows them."""
    return {"SQLite": sqlite_version(), "libcurl": libcurl_version()}


def open_plain_database(settings: Settings) -> SqlDatabase:
    """Open the database alone, for migrations and the doctor."""
    return open_database(settings.where_database, pool_size=1)


def web_limits(settings: Settings) -> WebLimits:
    return WebLimits(
        connect=settings.connect_timeout_ms / 1000,
        tls=settings.tls_timeout_ms / 1000,
        first_byte=settings.first_byte_timeout_ms / 1000,
        idle=settings.idle_timeout_ms / 1000,
        body_bytes=settings.max_body_bytes,
        header_bytes=settings.max_header_bytes,
        header_line=settings.max_header_line_bytes,
        header_fields=settings.max_header_fields,
        interim_answers=settings.max_informational_responses,
    )
