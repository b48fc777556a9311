"""Settings → real adapters: the only importer of adapters."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from importlib import import_module

from headwater.adapters import schema as schema
from headwater.adapters.blobs import blobs_from
from headwater.adapters.builtins import load_builtins
from headwater.adapters.clock import SystemClock as SystemClock
from headwater.adapters.database import SqlDatabase as SqlDatabase
from headwater.adapters.database import open_database
from headwater.adapters.fetchers import HttpFetchers
from headwater.adapters.outlets.kinds import EveryOutlet
from headwater.adapters.parsers import Limits as ParserLimits
from headwater.adapters.parsers import ProcessParsers
from headwater.adapters.vault import SealedVault, open_vault
from headwater.adapters.web import CurlWeb
from headwater.adapters.web_libraries import libcurl_version, sqlite_version
from headwater.adapters.web_limits import WebLimits
from headwater.announce.sinks.wish import BEGINNING, END, SinkWish, Start
from headwater.announce.wanted import checked_wanted
from headwater.engine import Engine, Rules
from headwater.errors import BadInput, BadSettings
from headwater.fetch.address import AddressPolicy, address_policy
from headwater.fetch.steps import FetchPolicy
from headwater.fetch.turns import TurnPolicy, Turns
from headwater.merge.reading import ReadingPolicy
from headwater.parse.limits import ParseLimits
from headwater.ports import Blobs, Database
from headwater.schedule.policy import Policy
from headwater.settings import Settings, SinkSetting
from headwater.subscribe.assignment import BroadcastPolicy
from headwater.subscribe.evidence import Learning
from headwater.subscribe.feed import KEEP
from headwater.telemetry.trace import OFF, Tracer
from headwater.values.ids import WorkerId
from headwater.values.instant import to_micros

NOBODY = WorkerId("local")
"""Who visits when no worker does: the command line on its own."""


@asynccontextmanager
async def open_engine(settings: Settings, worker: WorkerId = NOBODY) -> AsyncIterator[Engine]:
    """Everything a process needs, closed again in the opposite order."""
    async with AsyncExitStack() as stack:
        # First to be opened, last to be closed: it is told of all that happens before that.
        tracer = open_tracer(settings, worker, stack)
        database = open_database(settings.where_database, pool_size=settings.database_pool_size)
        stack.push_async_callback(database.close)
        web = open_web(settings)
        stack.push_async_callback(web.close)
        fetchers = open_fetchers(settings)
        stack.push_async_callback(fetchers.close)
        parsers = ProcessParsers(
            count=settings.parser_processes,
            limits=ParserLimits(
                cpu_seconds=settings.parser_cpu_seconds, memory_bytes=settings.parser_memory_bytes
            ),
        )
        stack.push_async_callback(parsers.close)
        blobs = blobs_from(settings.where_blobs)
        stack.push_async_callback(blobs.close)
        yield Engine(
            clock=SystemClock(),
            web=web,
            fetchers=fetchers,
            blobs=blobs,
            parsers=parsers,
            database=database,
            vault=vault_of(settings),
            outlets=outlets_of(settings, database, blobs),
            fetch=fetch_policy(settings),
            schedule=schedule_policy(settings),
            reading=reading_policy(settings),
            rules=rules(settings),
            turns=Turns(turn_policy(settings)),
            worker=worker,
            builtins=load_builtins(),
            broadcast=broadcast_policy(settings),
            tracer=tracer,
        )


def open_tracer(settings: Settings, worker: WorkerId, stack: AsyncExitStack) -> Tracer:
    """Traces, where they are wanted; what they need is not even loaded where they are not."""
    if settings.otlp_endpoint is None:
        return OFF
    try:
        tracing = import_module("headwater.adapters.tracing")
    except ImportError as trouble:
        raise BadSettings(
            "Traces need OpenTelemetry: pip install 'headwater[otel]' (or unset otlp_endpoint)."
        ) from trouble
    headers = settings.otlp_headers
    export = tracing.trace_export(
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


def open_fetchers(settings: Settings) -> HttpFetchers:
    """Registered fetchers pass the same gate as feeds: a private one must be allowed by name."""
    return HttpFetchers(
        web_limits(settings),
        address_rules(settings),
        clock=SystemClock(),
        user_agent=settings.user_agent,
    )


def outlets_of(settings: Settings, database: Database, blobs: Blobs) -> EveryOutlet:
    """Webhooks pass the same gate as feeds; files stay inside one folder."""
    return EveryOutlet(
        web_limits=web_limits(settings),
        address=address_rules(settings),
        clock=SystemClock(),
        user_agent=settings.user_agent,
        database=database,
        blobs=blobs,
        out_dir=settings.where_out,
    )


def sink_wishes(settings: Settings) -> list[SinkWish]:
    """Sinks that stand in the settings. BadSettings names the one that cannot be."""
    return [_sink_wish(each) for each in settings.sinks]


def _sink_wish(each: SinkSetting) -> SinkWish:
    try:
        wanted = checked_wanted(**each.wanted)
    except BadInput as trouble:
        raise BadSettings(f"sinks: {each.name}: {trouble.message}", **trouble.facts) from trouble
    match each.start:
        case "beginning" | "end":
            start = BEGINNING if each.start == "beginning" else END
        case int():
            start = Start(seq=each.start)
        case moment:
            start = Start(moment=to_micros(moment))
    return SinkWish(
        name=each.name,
        kind=each.kind,
        options=each.options,
        secrets={name: hidden.get_secret_value() for name, hidden in each.secrets.items()},
        wanted=wanted,
        enabled=each.enabled,
        max_attempts=each.max_attempts if "max_attempts" in each.model_fields_set else KEEP,
        start=start,
    )


def library_versions() -> dict[str, str]:
    """For the doctor: compiled libraries that only adapters may touch."""
    return {"SQLite": sqlite_version(), "libcurl": libcurl_version()}


def open_plain_database(settings: Settings) -> SqlDatabase:
    """For those who come before the engine: migrations and the doctor."""
    return open_database(settings.where_database, pool_size=1)


def address_rules(settings: Settings) -> AddressPolicy:
    return address_policy(
        settings.allow_addresses,
        ports=settings.allowed_ports,
        only_hosts=settings.egress_allow_hosts,
        denied_hosts=settings.egress_deny_hosts,
    )


def fetch_policy(settings: Settings) -> FetchPolicy:
    return FetchPolicy(
        user_agent=settings.user_agent,
        deadline=settings.fetch_timeout_ms / 1000,
        max_redirects=settings.max_redirects,
        retry_after_cap=settings.retry_after_cap_sec,
        accepted_types=tuple(settings.allowed_content_types) or None,
        address=address_rules(settings),
    )


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


def broadcast_policy(settings: Settings) -> BroadcastPolicy:
    return BroadcastPolicy(
        timeout=settings.broadcast_timeout_sec,
        answer_timeout=settings.fetcher_answer_timeout_sec,
        max_fetchers=settings.max_fetchers,
        at_once=settings.fetchers_at_once,
    )


def turn_policy(settings: Settings) -> TurnPolicy:
    return TurnPolicy(
        max_concurrency=settings.host_max_concurrency,
        requests_per_second=settings.host_rps,
        address_requests_per_second=settings.address_rps,
    )


def reading_policy(settings: Settings) -> ReadingPolicy:
    return ReadingPolicy(
        max_bytes=settings.max_body_bytes,
        limits=ParseLimits(
            depth=settings.max_xml_depth,
            items=settings.max_items,
            title_chars=settings.max_title_chars,
            guid_bytes=settings.max_guid_bytes,
            content_bytes=settings.max_content_bytes,
        ),
        emails=settings.author_emails,
    )


def schedule_policy(settings: Settings) -> Policy:
    return Policy(
        min_interval=settings.sched_min_interval_sec,
        max_interval=settings.sched_max_interval_sec,
        up_factor=settings.sched_up_factor,
        down_factor=settings.sched_down_factor,
        ewma_alpha=settings.sched_ewma_alpha,
        blend_lambda=settings.sched_blend_lambda,
        jitter_ratio=settings.sched_jitter_ratio,
        backoff_base=settings.sched_backoff_base,
        backoff_cap=settings.sched_backoff_cap_sec,
        initial_interval=settings.sched_initial_interval_sec,
        error_budget=settings.sched_error_budget,
        retry_after_cap=settings.retry_after_cap_sec,
    )


def rules(settings: Settings) -> Rules:
    return Rules(
        moved_after_count=settings.moved_after_count,
        moved_after_hours=settings.moved_after_hours,
        failing_after=settings.failing_after,
        whole_fetch_days=settings.whole_fetch_days,
        max_new_entries_per_day=settings.max_new_entries_per_day,
        learning=Learning(
            min_visits=settings.suggestion_min_visits,
            days=settings.suggestion_days,
            auto_resolve=settings.auto_resolve,
        ),
    )
