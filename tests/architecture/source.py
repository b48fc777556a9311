"""The source as the architecture tests see it: files, what they import, what they call."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
SRC = ROOT / "src" / "headwater"

STATIONS = (
    "values",
    "access",
    "subscribe",
    "schedule",
    "fetch",
    "parse",
    "merge",
    "announce",
    "publish",
    "collect",
)
MAY_ACT = frozenset({"steps.py", "store.py", "queries.py"})
"""The only files of a station that may wait for something: verbs, writes, reads."""

GENERATED = frozenset({"entrypoints/rpc/headwater_pb2.py", "entrypoints/rpc/headwater_pb2_grpc.py"})
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
    def station(self) -> str | None:
        first, _, rest = self.name.partition("/")
        return first if rest and first in STATIONS else None

    @property
    def is_pure(self) -> bool:
        return self.station is not None and self.name.rpartition("/")[2] not in MAY_ACT


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
