"""Tables and details of subscriptions for people."""

from collections.abc import Iterable, Mapping
from datetime import datetime

from rich.console import RenderableType
from rich.table import Table

from headwater.entrypoints.cli.render import Record, details_table, safe_text, state_text, table
from headwater.entrypoints.cli.times import local_time, relative_time
from headwater.feeds.schedule.durations import format_duration


def subscriptions_table(
    subscriptions: Iterable[Record], names: Mapping[int, str], now: datetime
) -> Table:
    made = table("id", "source", "fetcher", "how", "last fetched", "next", wide=("source",))
    for subscription in subscriptions:
        made.add_row(
            str(subscription["subscription_id"]),
            safe_text(subscription["name"] or subscription["source_url"], 100),
            safe_text(names.get(subscription["fetcher_id"], subscription["fetcher_id"])),
            state_text(_how(subscription)),
            relative_time(subscription["last_fetched_at"], now),
            relative_time(subscription["next_fetch_at"], now),
        )
    return made


def subscription_details(subscription: Record, names: Mapping[int, str], now: datetime) -> Table:
    return details_table(
        [
            ("subscription", str(subscription["subscription_id"])),
            ("source", safe_text(subscription["source_url"], 2_000)),
            ("kind of source", safe_text(subscription["source_type"])),
            ("name", safe_text(subscription["name"])),
            ("description", safe_text(subscription["description"])),
            (
                "fetched by",
                safe_text(names.get(subscription["fetcher_id"], subscription["fetcher_id"])),
            ),
            ("chosen", state_text(_how(subscription))),
            ("assigned", local_time(subscription["assigned_at"], now)),
            ("every", format_duration(subscription["fetch_interval_minutes"] * 60)),
            ("last fetched", local_time(subscription["last_fetched_at"], now)),
            ("next fetch", local_time(subscription["next_fetch_at"], now)),
            ("config", safe_text(subscription["config"], 2_000)),
            ("credentials", "held" if subscription["has_credentials"] else "none"),
            ("group", safe_text(subscription["group_id"])),
            ("feed", subscription["feed_id"]),
        ]
    )


def _how(subscription: Record) -> str:
    if not subscription["is_active"]:
        return "inactive"
    return "automatically" if subscription["auto_selected"] else "by a person"


def history_table(decisions: Iterable[Record], now: datetime) -> Table:
    made = table("when", "who", "what", "why", "change", wide=("why", "change"))
    for decision in decisions:
        made.add_row(
            local_time(decision["at"], now),
            safe_text(decision["who"]),
            safe_text(decision["what"]),
            safe_text(decision["why"]),
            safe_text(_changed_values(decision["before"] or {}, decision["after"] or {})),
        )
    return made


def _changed_values(before: Record, after: Record) -> str:
    names = sorted(before.keys() | after.keys())
    return ", ".join(
        f"{name} {before.get(name, '–')} → {after.get(name, '–')}"
        for name in names
        if before.get(name) != after.get(name)
    )


def statistics_details(statistics: Record, now: datetime) -> Table:
    rate = statistics["success_rate"]
    late = statistics["mean_late_sec"]
    return details_table(
        [
            ("subscription", str(statistics["subscription_id"])),
            ("window", statistics["window"]),
            ("visits", f"{statistics['visits']:,}"),
            ("successes", f"{statistics['successes']:,}"),
            ("failures", f"{statistics['failures']:,}"),
            ("unchanged", f"{statistics['unchanged']:,}"),
            ("success rate", "–" if rate is None else f"{rate:.1%}"),
            ("new entries", f"{statistics['new_entries']:,}"),
            ("bytes", f"{statistics['bytes_in']:,}"),
            ("seen after", "–" if late is None else format_duration(late)),
            ("failures in a row", str(statistics["consecutive_failures"])),
            ("last success", local_time(statistics["last_success_at"], now)),
            ("last error", safe_text(statistics["last_error"])),
        ]
    )


def worst_table(worst: Record, window: str) -> RenderableType:
    if not worst["subscriptions"]:
        return safe_text(f"No subscription fails (window {window}).")
    made = table(
        "id", "source", "fetcher", "visits", "failed", "in a row", "last error", wide=("source",)
    )
    for subscription in worst["subscriptions"]:
        made.add_row(
            str(subscription["subscription_id"]),
            safe_text(subscription["name"] or subscription["source_url"], 100),
            safe_text(subscription["fetcher"]),
            f"{subscription['visits']:,}",
            f"{subscription['failure_rate']:.0%}",
            str(subscription["consecutive_failures"]),
            safe_text(subscription["last_error"]),
        )
    return made
