"""The source as the architecture tests see it: files, what they import, what they call."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
SRC = ROOT / "src" / "headwater"

PURE = (
    "anime/",
    "auth/",
    "core/idempotency.py",
    "core/values/",
    "events/",
    "feeds/discovery.py",
    "feeds/entries/",
    "feeds/feed.py",
    "feeds/feed_events.py",
    "feeds/fetch/",
    "feeds/keyring.py",
    "feeds/merge/",
    "feeds/page_charset.py",
    "feeds/raw/raw_fetch.py",
    "feeds/schedule/",
    "feeds/fetch/host_turns.py",
    "parse/",
    "personal_feeds/cache.py",
    "personal_feeds/personal_feed.py",
    "personal_feeds/item_json.py",
    "personal_feeds/source.py",
    "publish/",
    "sinks/retry_policy.py",
    "sinks/sink.py",
    "statistics/days.py",
    "statistics/fetcher_counts.py",
    "statistics/subscriptions.py",
    "subscriptions/conflicts/conflict.py",
    "subscriptions/fetchers/address.py",
    "subscriptions/fetchers/builtin.py",
    "subscriptions/fetchers/can_handle.py",
    "subscriptions/fetchers/config_schema.py",
    "subscriptions/fetchers/fetcher.py",
    "subscriptions/fetchers/fetcher_reports.py",
    "subscriptions/fetchers/rank_candidates.py",
    "subscriptions/fetchers/schema_limits.py",
    "subscriptions/groups/group.py",
    "subscriptions/subscription.py",
    "web/address_gate.py",
    "web/retry_after.py",
)
"""Where a file computes and touches nothing, unless it stands in ACTS."""

ACTS = (
    "anime/decide/release_sink.py",
    "anime/decide/decide_again.py",
    "anime/decide/decide_by_hand.py",
    "anime/decide/record_decisions.py",
    "anime/download_clients/",
    "anime/downloads/client_steps.py",
    "anime/downloads/fetch_torrent.py",
    "anime/downloads/file_moves.py",
    "anime/downloads/remove_files.py",
    "anime/downloads/download_services.py",
    "anime/downloads/disk_library.py",
    "anime/downloads/place_files.py",
    "anime/downloads/ports.py",
    "anime/downloads/download_commands.py",
    "anime/downloads/run_downloads.py",
    "anime/downloads/claimed_download.py",
    "anime/episodes/missing_alerts.py",
    "anime/episodes/preview.py",
    "anime/release_events.py",
    "anime/tracking_commands.py",
    "anime/upkeep.py",
    "events/event_json.py",
    "events/log_watch.py",
    "feeds/fetch/request_feed.py",
    "feeds/fetch/polite_fetcher.py",
    "feeds/fetch/request_trace.py",
    "feeds/schedule/replan.py",
    "publish/collection_rows.py",
)
"""What waits, writes or draws luck beside pure files. So does every `*_rows.py`."""

GENERATED = frozenset({"client/grpc/headwater_pb2.py", "client/grpc/headwater_pb2_grpc.py"})
"""Made from headwater.proto by `make protos`: nobody reads or writes them."""

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Room:
    """One file: `name` is its path inside the package."""

    name: str
    text: str

    @cached_property
    def tree(self) -> ast.Module:
        """Made when it is looked at: every process of a run collects, one of them looks."""
        return ast.parse(self.text)

    @property
    def is_pure(self) -> bool:
        acts = self.name.startswith(ACTS) or self.name.endswith("_rows.py")
        return self.name.startswith(PURE) and not acts


@lru_cache(maxsize=1)
def rooms() -> tuple[Room, ...]:
    return tuple(
        Room(str(path.relative_to(SRC)), path.read_text("utf-8"))
        for path in sorted(SRC.rglob("*.py"))
        if str(path.relative_to(SRC)) not in GENERATED
    )


def functions(room: Room) -> Iterator[Function]:
    for node in ast.walk(room.tree):
        if isinstance(node, Function):
            yield node


def length(function: Function) -> int:
    return (function.end_lineno or function.lineno) - function.lineno + 1


def imports(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """(line, dotted name): `from a.b import c` is `a.b.c`, because c may be a module."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from ((node.lineno, f"{node.module}.{alias.name}") for alias in node.names)


def calls(tree: ast.AST) -> Iterator[tuple[ast.Call, str]]:
    """(call, the last name of what is called): `a.b.c()` is `c`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            if isinstance(node.func, ast.Attribute):
                yield node, node.func.attr
            elif isinstance(node.func, ast.Name):
                yield node, node.func.id


def top(module: str) -> str:
    return module.partition(".")[0]


def percentile(numbers: list[int], percent: int) -> int:
    """The nearest-rank percentile."""
    ordered = sorted(numbers)
    return ordered[max(0, -(-len(ordered) * percent // 100) - 1)]
