"""Subscriptions, fetchers, conflicts and groups as tables and short paragraphs for people."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from rich.table import Table
from rich.text import Text

from headwater.entrypoints.cli.moments import from_now, on_the_clock
from headwater.entrypoints.cli.render import facts, plain, table, word
from headwater.schedule.words import duration

Record = dict[str, Any]


def subscriptions_table(
    subscriptions: Iterable[Record], names: Mapping[int, str], now: datetime
) -> Table:
    made = table("id", "source", "fetcher", "how", "last fetched", "next", wide=("source",))
    for each in subscriptions:
        made.add_row(
            str(each["subscription_id"]),
            plain(each["name"] or each["source_url"], 100),
            plain(names.get(each["fetcher_id"], each["fetcher_id"])),
            word(_how(each)),
            from_now(each["last_fetched_at"], now),
            from_now(each["next_fetch_at"], now),
        )
    return made


def subscription_facts(each: Record, names: Mapping[int, str], now: datetime) -> Table:
    return facts(
        [
            ("subscription", str(each["subscription_id"])),
            ("source", plain(each["source_url"], 2_000)),
            ("kind of source", plain(each["source_type"])),
            ("name", plain(each["name"])),
            ("description", plain(each["description"])),
            ("fetched by", plain(names.get(each["fetcher_id"], each["fetcher_id"]))),
            ("chosen", word(_how(each))),
            ("assigned", on_the_clock(each["assigned_at"], now)),
            ("every", duration(each["fetch_interval_minutes"] * 60)),
            ("last fetched", on_the_clock(each["last_fetched_at"], now)),
            ("next fetch", on_the_clock(each["next_fetch_at"], now)),
            ("config", plain(each["config"], 2_000)),
            ("credentials", "held" if each["has_credentials"] else "none"),
            ("group", plain(each["group_id"])),
            ("feed", each["feed_id"]),
        ]
    )


def _how(each: Record) -> str:
    if not each["is_active"]:
        return "inactive"
    return "automatically" if each["auto_selected"] else "by a person"


def history_table(decisions: Iterable[Record], now: datetime) -> Table:
    made = table("when", "who", "what", "why", "change", wide=("why", "change"))
    for each in decisions:
        made.add_row(
            on_the_clock(each["at"], now),
            plain(each["who"]),
            plain(each["what"]),
            plain(each["why"]),
            plain(_change(each["before"] or {}, each["after"] or {})),
        )
    return made


def _change(before: Record, after: Record) -> str:
    """Only what differs."""
    names = sorted(name for name in before.keys() | after.keys() if _differs(before, after, name))
    return ", ".join(f"{name} {before.get(name, '–')} → {after.get(name, '–')}" for name in names)


def _differs(before: Record, after: Record, name: str) -> bool:
    return bool(before.get(name) != after.get(name))


def statistics_facts(found: Record, now: datetime) -> Table:
    rate = found["success_rate"]
    late = found["mean_late_sec"]
    return facts(
        [
            ("subscription", str(found["subscription_id"])),
            ("window", found["window"]),
            ("visits", f"{found['visits']:,}"),
            ("successes", f"{found['successes']:,}"),
            ("failures", f"{found['failures']:,}"),
            ("unchanged", f"{found['unchanged']:,}"),
            ("success rate", "–" if rate is None else f"{rate:.1%}"),
            ("new entries", f"{found['new_entries']:,}"),
            ("bytes", f"{found['bytes_in']:,}"),
            ("seen after", "–" if late is None else duration(late)),
            ("failures in a row", str(found["consecutive_failures"])),
            ("last success", on_the_clock(found["last_success_at"], now)),
            ("last error", plain(found["last_error"])),
        ]
    )


def worst_table(found: Iterable[Record]) -> Table:
    made = table(
        "id", "source", "fetcher", "visits", "failed", "in a row", "last error", wide=("source",)
    )
    for each in found:
        made.add_row(
            str(each["subscription_id"]),
            plain(each["name"] or each["source_url"], 100),
            plain(each["fetcher"]),
            f"{each['visits']:,}",
            f"{each['failure_rate']:.0%}",
            str(each["consecutive_failures"]),
            plain(each["last_error"]),
        )
    return made


def fetchers_table(fetchers: Iterable[Record], now: datetime) -> Table:
    made = table("id", "name", "version", "priority", "state", "where", "seen", wide=("where",))
    for each in fetchers:
        made.add_row(
            str(each["fetcher_id"]),
            plain(each["name"]),
            plain(each["version"]),
            str(each["priority"]),
            word("enabled" if each["is_enabled"] else "disabled"),
            "built in" if each["is_builtin"] else plain(each["base_url"], 200),
            from_now(each["last_seen_at"], now),
        )
    return made


def fetcher_facts(each: Record, now: datetime) -> Table:
    return facts(
        [
            ("fetcher", str(each["fetcher_id"])),
            ("name", plain(each["name"])),
            ("version", plain(each["version"])),
            ("description", plain(each["description"])),
            ("where", "built in" if each["is_builtin"] else plain(each["base_url"], 2_000)),
            ("priority", str(each["priority"])),
            ("state", word("enabled" if each["is_enabled"] else "disabled")),
            ("wants news", "yes" if each["wants_news"] else "no"),
            ("config", plain(each["config_schema"], 2_000)),
            ("last seen", on_the_clock(each["last_seen_at"], now)),
            ("since", on_the_clock(each["created_at"], now)),
        ]
    )


def conflicts_table(conflicts: Iterable[Record], now: datetime) -> Table:
    made = table("id", "source", "candidates", "opened", "state", wide=("source", "candidates"))
    for each in conflicts:
        made.add_row(
            str(each["conflict_id"]),
            plain(each["source_url"], 100),
            plain(candidates_in_words(each)),
            on_the_clock(each["created_at"], now),
            word(each["resolution_status"]),
        )
    return made


def candidates_in_words(conflict: Record) -> str:
    named = {each["fetcher_id"]: each["name"] for each in conflict["candidate_fetchers"]}
    ids = conflict["conflict_data"]["candidate_fetcher_ids"]
    return ", ".join(f"{each} {named.get(each, '(gone)')}" for each in ids)


def conflict_facts(conflict: Record, now: datetime) -> Table:
    advice, resolution = conflict.get("suggestion"), conflict["resolution_data"] or {}
    chosen = resolution.get("resolved_fetcher_id")
    return facts(
        [
            ("conflict", str(conflict["conflict_id"])),
            ("subscription", str(conflict["subscription_id"])),
            ("source", plain(conflict["source_url"], 2_000)),
            ("candidates", plain(candidates_in_words(conflict))),
            ("why", plain(conflict["conflict_data"]["conflict_reason"])),
            ("opened", on_the_clock(conflict["created_at"], now)),
            ("state", word(conflict["resolution_status"])),
            ("resolved", on_the_clock(conflict["resolved_at"], now)),
            ("chosen", plain(chosen)),
            ("suggestion", _advice(advice)),
        ]
    )


def _advice(advice: Record | None) -> Text:
    return plain(None if advice is None else advice["why"], 1_000)


def groups_table(groups: Iterable[Record]) -> Table:
    made = table("id", "name", "members", "every", "priority", "categories", wide=("name",))
    for each in groups:
        minutes, priority = each["fetch_interval_minutes"], each["priority"]
        made.add_row(
            str(each["group_id"]),
            plain(each["name"]),
            str(each["members"]),
            "–" if minutes is None else duration(minutes * 60),
            "–" if priority is None else str(priority),
            plain(", ".join(each["categories"] or [])),
        )
    return made


def action_lines(report: Record) -> Table:
    made = table("id", "source", "what became of it", wide=("source", "what became of it"))
    for each in report["results"]:
        made.add_row(
            str(each["subscription_id"]),
            plain(each["source_url"], 100),
            plain("done" if each["done"] else each["message"]),
        )
    made.caption = f"{report['done']} done, {report['refused']} refused"
    return made
