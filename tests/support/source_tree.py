"""The source as the tests of the project read it: modules, their imports, their calls."""

import ast
from collections.abc import Callable, Iterable, Iterator
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
    "feeds/overrides.py",
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
    "anime/metrics.py",
    "anime/services.py",
    "anime/release_events.py",
    "anime/tracking_commands.py",
    "anime/upkeep.py",
    "auth/token_commands.py",
    "events/event_json.py",
    "events/log_watch.py",
    "feeds/fetch/request_feed.py",
    "feeds/fetch/polite_fetcher.py",
    "feeds/fetch/request_trace.py",
    "feeds/schedule/replan.py",
    "publish/collection_rows.py",
)
"""What waits, writes, counts or draws luck beside pure files. So does every `*_rows.py`."""

GENERATED = frozenset({"client/grpc/headwater_pb2.py", "client/grpc/headwater_pb2_grpc.py"})
"""Made from headwater.proto by `make protos`: nobody reads or writes them."""

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Module:
    """One file of the source: `name` is its path inside the package."""

    name: str
    text: str

    @cached_property
    def tree(self) -> ast.Module:
        """Made when it is asked for: every process of a run collects, one of them looks."""
        return ast.parse(self.text)

    @cached_property
    def nodes(self) -> tuple[ast.AST, ...]:
        return tuple(ast.walk(self.tree))

    @property
    def is_pure(self) -> bool:
        acts = self.name.startswith(ACTS) or self.name.endswith("_rows.py")
        return self.name.startswith(PURE) and not acts


Rule = Callable[[Module], Iterable[tuple[int, str]]]
"""The lines of a module that break a rule, each with a word on why."""


@lru_cache(maxsize=1)
def modules() -> tuple[Module, ...]:
    return tuple(
        Module(str(path.relative_to(SRC)), path.read_text("utf-8"))
        for path in sorted(SRC.rglob("*.py"))
        if str(path.relative_to(SRC)) not in GENERATED
    )


def offences(rule: Rule, among: Iterable[Module]) -> list[str]:
    """All of them, so that one run of a test names every line."""
    return [f"{module.name}:{line} {why}" for module in among for line, why in rule(module)]


def functions(module: Module) -> Iterator[Function]:
    for node in module.nodes:
        if isinstance(node, Function):
            yield node


def length(function: Function) -> int:
    return (function.end_lineno or function.lineno) - function.lineno + 1


def imports(module: Module) -> Iterator[tuple[int, str]]:
    """(line, dotted name): `from a.b import c` is `a.b.c`, because c may be a module."""
    for node in module.nodes:
        yield from imports_of(node)


def imports_of(node: ast.AST) -> Iterator[tuple[int, str]]:
    if isinstance(node, ast.Import):
        yield from ((node.lineno, alias.name) for alias in node.names)
    elif isinstance(node, ast.ImportFrom) and node.module:
        yield from ((node.lineno, f"{node.module}.{alias.name}") for alias in node.names)


def calls(module: Module) -> Iterator[tuple[ast.Call, str]]:
    """(call, the last name of what is called): `a.b.c()` is `c`."""
    for node in module.nodes:
        if isinstance(node, ast.Call):
            if isinstance(node.func, ast.Attribute):
                yield node, node.func.attr
            elif isinstance(node.func, ast.Name):
                yield node, node.func.id


def texts(module: Module) -> Iterator[tuple[int, str]]:
    """Strings that are no docstrings; what stands in braces in an f-string is `{}`."""
    notes = {
        id(node.value)
        for node in module.nodes
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    pieces = set[int]()
    for node in module.nodes:  # an f-string comes before its pieces
        if isinstance(node, ast.JoinedStr):
            pieces |= {id(piece) for piece in node.values}
            constant = (
                str(piece.value) if isinstance(piece, ast.Constant) else "{}"
                for piece in node.values
            )
            yield node.lineno, "".join(constant)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            if id(node) not in notes and id(node) not in pieces:
                yield node.lineno, node.value


def top(dotted: str) -> str:
    return dotted.partition(".")[0]


def percentile(numbers: list[int], percent: int) -> int:
    """The nearest-rank percentile."""
    ordered = sorted(numbers)
    return ordered[max(0, -(-len(ordered) * percent // 100) - 1)]
