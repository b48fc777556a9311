"""SQL runs in modules of rows alone, and each table has its writers."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator

from tests.support.source_tree import Module, modules, offences, texts

PLACES = ("adapters/", "migrations/")
"""Where SQL runs beside `*_rows.py`: who speaks to the databases, and the schema's history."""

WRITERS = {
    "api_tokens": {"auth/token_rows.py"},
    "assignment_history": {"subscriptions/history_rows.py"},
    "blobs": {"feeds/raw/raw_rows.py"},
    # Numbers of several kinds: the last event, the version of personal feeds.
    "counters": {"events/event_rows.py", "personal_feeds/item_rows.py"},
    "day_totals": {"statistics/day_rows.py"},
    "dead_letters": {"sinks/sink_rows.py"},
    # A decision inserts the download that it wants, or changes where its torrent is to be had.
    "downloads": {"anime/decide/decision_rows.py", "anime/downloads/download_rows.py"},
    "entries": {"feeds/entries/entry_rows.py"},
    "entry_aliases": {"feeds/entries/entry_rows.py"},
    "entry_versions": {"feeds/entries/entry_rows.py"},
    "events": {"events/event_rows.py"},
    "feeds": {
        "feeds/feed_rows.py",
        # The columns that a visit learns: the schedule, validators, the document.
        "feeds/visit_rows.py",
        # The claim: the end of the lease, the holder, the fence.
        "feeds/worker/claim_rows.py",
        "subscriptions/fetchers/remote_claim_rows.py",
        # Moments that were in the future.
        "feeds/worker/clock_step_rows.py",
        # The shard, which says who visits, and the claim of who did so before.
        "subscriptions/subscription_rows.py",
    },
    "fetcher_days": {"statistics/day_rows.py"},
    "fetcher_modules": {
        "subscriptions/fetchers/fetcher_rows.py",
        # How far a fetcher was told its news.
        "subscriptions/fetchers/receiver_rows.py",
        # The key with which it signs, sealed.
        "subscriptions/secret_rows.py",
    },
    "gaps": {"anime/episodes/gap_rows.py"},
    "idempotency": {"core/idempotency_rows.py"},
    "latency_days": {"statistics/day_rows.py"},
    "library_files": {"anime/downloads/library_file_rows.py"},
    "personal_categories": {"personal_feeds/item_rows.py"},
    "personal_items": {"personal_feeds/item_rows.py"},
    "quarantine": {"feeds/raw/raw_rows.py"},
    "raw_fetches": {"feeds/raw/raw_rows.py"},
    "reader_changes": {"personal_feeds/item_rows.py", "personal_feeds/reader_rows.py"},
    "reader_tokens": {"personal_feeds/reader_rows.py"},
    "readers": {"personal_feeds/reader_rows.py"},
    "releases": {"anime/decide/decision_rows.py"},
    "rss_subscriptions": {
        "subscriptions/subscription_rows.py",
        # Credentials, sealed.
        "subscriptions/secret_rows.py",
        # Deleted together with its feed.
        "feeds/feed_rows.py",
    },
    "shards": {"feeds/worker/worker_rows.py", "feeds/worker/clock_step_rows.py"},
    "shows": {"anime/shows/show_rows.py"},
    # The secrets of a sink, when all that is sealed gets another key.
    "sinks": {"sinks/sink_rows.py", "subscriptions/secret_rows.py"},
    "subscription_conflicts": {"subscriptions/conflicts/conflict_rows.py"},
    "subscription_days": {"statistics/day_rows.py"},
    "subscription_groups": {
        "subscriptions/groups/group_rows.py",
        # Credentials, sealed.
        "subscriptions/secret_rows.py",
    },
    # How far the decisions on what is kept already have come.
    "trackings": {"anime/shows/tracking_rows.py", "anime/decide/decision_rows.py"},
    # Whether a visit is in the sums.
    "visits": {"feeds/visit_rows.py", "statistics/day_rows.py"},
    "workers": {"feeds/worker/worker_rows.py", "feeds/worker/clock_step_rows.py"},
}
"""Table → the modules that write it, each its own columns. Who else would, asks one of these."""

OPEN_VIEWS = frozenset({"View", "Transaction"})
STATEMENT = re.compile(
    r"\b(?:SELECT|INSERT INTO|DELETE FROM|WHERE|ORDER BY|GROUP BY)\b"
    r"|\bUPDATE \w+ SET\b|\bFROM \w+ (?:WHERE|JOIN)\b"
)
WRITTEN = re.compile(r"\b(?:INSERT INTO|UPDATE|DELETE FROM) ([a-z_]+|\{\})")


def test_sql_runs_in_modules_of_rows() -> None:
    others = [module for module in modules() if not may_run_sql(module)]
    assert offences(statements, others) == []
    assert offences(questions, others) == []


def may_run_sql(module: Module) -> bool:
    return module.name.endswith("_rows.py") or module.name.startswith(PLACES)


def statements(module: Module) -> Iterator[tuple[int, str]]:
    for line, text in texts(module):
        if STATEMENT.search(text):
            yield line, f"holds SQL: {text[:60]!r}"


def questions(module: Module) -> Iterator[tuple[int, str]]:
    """Calls of what an open view or transaction has."""
    views = set(_open_views(module))
    for node in module.nodes:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            owner, name = node.func.value, node.func.attr
            if isinstance(owner, ast.Name) and owner.id in views:
                if name in {"rows", "row", "run", "run_many"}:
                    yield node.lineno, f"asks the database: {owner.id}.{name}()"


def _open_views(module: Module) -> Iterator[str]:
    for node in module.nodes:
        if isinstance(node, ast.arg) and isinstance(node.annotation, ast.Name):
            if node.annotation.id in OPEN_VIEWS:
                yield node.arg
        elif isinstance(node, ast.AsyncWith):
            for item in node.items:
                if isinstance(item.optional_vars, ast.Name) and _opens_a_view(item.context_expr):
                    yield item.optional_vars.id


def _opens_a_view(node: ast.expr) -> bool:
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return node.func.attr in {"read", "write"}
    return False


def test_each_table_has_its_writers() -> None:
    written: dict[str, set[str]] = defaultdict(set)
    for module in modules():
        if not module.name.startswith("migrations/"):
            for table in tables_written(module):
                written[table].add(module.name)
    assert written == WRITERS


def tables_written(module: Module) -> set[str]:
    """Where a statement has room for a name of a table, each that the module names is meant."""
    strings = [text for _, text in texts(module)]
    tables = {table for text in strings for table in WRITTEN.findall(text)}
    if "{}" in tables:
        tables = (tables - {"{}"}) | (WRITERS.keys() & set(strings))
    return tables


def test_every_table_of_the_schema_is_listed() -> None:
    assert {table for module in modules() for table in tables_made(module)} == WRITERS.keys()


def tables_made(module: Module) -> Iterator[str]:
    for node in module.nodes:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if node.func.attr == "create_table" and isinstance(node.args[0], ast.Constant):
                yield str(node.args[0].value)
