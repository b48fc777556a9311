"""Build the policies of all areas from the settings."""

from datetime import timedelta

from headwater.anime.decide.filter import compile_pattern_lists
from headwater.anime.decide.policy import ReleasePolicy
from headwater.anime.tracking_commands import TrackPolicy
from headwater.core.errors import BadInput, BadSettings
from headwater.core.values.instant import to_micros
from headwater.core.values.keep import KEEP
from headwater.events.event_filter import parse_event_filter
from headwater.feeds.fetch.host_turns import PacingPolicy
from headwater.feeds.fetch.request_feed import FetchPolicy
from headwater.feeds.read_document import ReadingPolicy
from headwater.feeds.schedule.policy import SchedulePolicy
from headwater.feeds.visit_rules import VisitRules
from headwater.feeds.worker.policy import WorkerPolicy
from headwater.parse.limits import ParseLimits
from headwater.personal_feeds.items_from_entries import EntryItemPolicy
from headwater.personal_feeds.served_feeds import PersonalPolicy
from headwater.settings import Settings, SinkSetting
from headwater.sinks.dispatch import SinkPolicy
from headwater.sinks.sink import BEGINNING, END, SinkDefinition, StartPosition
from headwater.subscriptions.conflicts.evidence import EvidencePolicy
from headwater.subscriptions.fetchers.rank_candidates import BroadcastPolicy
from headwater.subscriptions.fetchers.send_news import NewsPolicy
from headwater.web.address_gate import AddressPolicy, build_address_policy


def personal_policy(settings: Settings) -> PersonalPolicy:
    return PersonalPolicy(
        limit=settings.personal_limit,
        limit_max=settings.personal_limit_max,
        hub_url=settings.hub_url,
        cache_bytes=settings.personal_cache_bytes * 3 // 4,
        clean_bytes=settings.personal_cache_bytes // 4,
    )


def entry_item_policy(settings: Settings) -> EntryItemPolicy:
    """The policy by which entries become items."""
    return EntryItemPolicy(
        days=settings.personal_days,
        allowed=frozenset(settings.personal_categories),
        most_bytes=settings.personal_item_max_bytes,
    )


def collect_policy(settings: Settings) -> ReleasePolicy:
    """The policy of all trackings. BadSettings names a pattern that cannot be compiled."""
    try:
        everywhere = compile_pattern_lists(
            settings.media_include, settings.media_exclude, "the settings"
        )
    except BadInput as trouble:
        raise BadSettings(trouble.message, **trouble.facts) from trouble
    return ReleasePolicy(
        everywhere=everywhere,
        replacements_per_day=settings.media_replacements_per_day,
        gap_hours=settings.media_gap_hours,
    )


def track_policy(settings: Settings) -> TrackPolicy:
    """How to visit feeds that releases are collected from."""
    return TrackPolicy(
        interval_sec=settings.media_tracked_interval_sec,
        gap=timedelta(seconds=settings.refetch_min_seconds),
    )


def sink_definitions(settings: Settings) -> list[SinkDefinition]:
    """Define the sinks of the settings. BadSettings names a sink that cannot be."""
    return [_sink_definition(sink) for sink in settings.sinks]


def _sink_definition(sink: SinkSetting) -> SinkDefinition:
    try:
        event_filter = parse_event_filter(**sink.wanted)
    except BadInput as trouble:
        raise BadSettings(f"sinks: {sink.name}: {trouble.message}", **trouble.facts) from trouble
    match sink.start:
        case "beginning" | "end":
            start = BEGINNING if sink.start == "beginning" else END
        case int():
            start = StartPosition(seq=sink.start)
        case moment:
            start = StartPosition(moment=to_micros(moment))
    return SinkDefinition(
        name=sink.name,
        kind=sink.kind,
        options=sink.options,
        secrets={name: hidden.get_secret_value() for name, hidden in sink.secrets.items()},
        wanted=event_filter,
        enabled=sink.enabled,
        max_attempts=sink.max_attempts if "max_attempts" in sink.model_fields_set else KEEP,
        start=start,
    )


def address_rules(settings: Settings) -> AddressPolicy:
    return build_address_policy(
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
        accepted_types=tuple(map(_media_type, settings.allowed_content_types)) or None,
        address=address_rules(settings),
    )


def _media_type(content_type: str) -> str:
    """Case means nothing in a content type, and parameters behind it are not compared."""
    return content_type.partition(";")[0].strip().lower()


def broadcast_policy(settings: Settings) -> BroadcastPolicy:
    return BroadcastPolicy(
        timeout=settings.broadcast_timeout_sec,
        answer_timeout=settings.fetcher_answer_timeout_sec,
        max_fetchers=settings.max_fetchers,
        at_once=settings.fetchers_at_once,
    )


def pacing_policy(settings: Settings) -> PacingPolicy:
    return PacingPolicy(
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
            link_bytes=settings.max_guid_bytes,
            content_bytes=settings.max_content_bytes,
        ),
        emails=settings.author_emails,
    )


def schedule_policy(settings: Settings) -> SchedulePolicy:
    return SchedulePolicy(
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


def visit_rules(settings: Settings) -> VisitRules:
    return VisitRules(
        moved_after_count=settings.moved_after_count,
        moved_after_hours=settings.moved_after_hours,
        failing_after=settings.failing_after,
        whole_fetch_days=settings.whole_fetch_days,
        max_new_entries_per_day=settings.max_new_entries_per_day,
    )


def evidence_policy(settings: Settings) -> EvidencePolicy:
    return EvidencePolicy(
        min_visits=settings.suggestion_min_visits,
        days=settings.suggestion_days,
        auto_resolve=settings.auto_resolve,
    )


def worker_policy(settings: Settings) -> WorkerPolicy:
    return WorkerPolicy(
        visits_at_once=settings.visits_at_once,
        claim_batch=settings.claim_batch,
        lease=settings.lease_seconds,
        requests_per_second=settings.host_rps,
        stop=settings.stop_seconds,
    )


def news_policy(settings: Settings) -> NewsPolicy:
    deadline = settings.news_timeout_ms / 1000
    return NewsPolicy(
        deadline=deadline, lease=deadline + 30.0, pause_cap=settings.news_pause_cap_sec
    )


def sink_policy(settings: Settings) -> SinkPolicy:
    return SinkPolicy(
        lease=settings.sink_lease_seconds,
        at_once=settings.sinks_at_once,
        pause_cap=settings.sink_pause_cap_sec,
        retry_after_cap=settings.retry_after_cap_sec,
        refused_attempts=settings.sink_refused_attempts,
        give_up_days=settings.sink_give_up_days,
    )
