"""Rules of the source that no linter knows: what is pure, what is named how, who imports what.

Imports inside functions, prints, and libraries that are wanted nowhere are ruff's (pyproject.toml);
the order of areas is import-linter's (.importlinter).
"""

import ast
from collections.abc import Iterator

from tests.support.source_tree import (
    ROOT,
    SRC,
    Module,
    calls,
    imports,
    imports_of,
    modules,
    offences,
    top,
)

# What computes and nothing else. `io` is here for buffers in memory; opening a file is a call.
PURE_STDLIB = frozenset(
    """
    abc array base64 binascii bisect calendar codecs collections contextlib copy dataclasses
    datetime decimal email enum fractions functools hashlib heapq hmac html http io ipaddress
    itertools json math operator re statistics string struct textwrap types typing unicodedata
    urllib zlib zoneinfo
    """.split()
)
NOT_PURE = frozenset({"urllib.request", "http.client", "http.server", "email.mime", "json.tool"})

# Compiled libraries that are functions of their input, where an area needs them.
PURE_LIBRARIES = {
    "core/": {"ada_url", "lxml"},
    "subscriptions/": {"jsonschema_rs", "orjson"},
    "feeds/keyring.py": {"orjson"},
    "feeds/schedule/": {"orjson"},
    "feeds/fetch/": {"brotli", "isal", "zstandard"},
    "feeds/entries/": {"orjson"},
    "feeds/overrides.py": {"orjson"},
    "parse/": {"lxml", "orjson", "re2"},
    "events/": {"orjson"},
    "publish/": {"lxml", "nh3", "orjson"},
    "personal_feeds/": {"orjson"},
    "anime/": {"orjson", "re2"},
}
# A reason beside each exception.
ALSO_ALLOWED = {
    "parse/pause_collector.py": {
        "gc"
    },  # when memory is looked through changes speed, never an answer
    "parse/accelerator.py": {
        "importlib"
    },  # which of two ways there is changes speed, never an answer
}
IMPURE_CALLS = frozenset(
    """
    now utcnow today monotonic perf_counter luck random uniform randint choice shuffle urandom
    token_bytes token_hex token_urlsafe uuid1 uuid4 uuid6 uuid7 open print input getenv sleep
    exec eval getLogger
    """.split()
)

# Names that say nothing about what is inside.
EMPTY_NAMES = frozenset({"utils", "util", "helpers", "helper", "common", "misc", "manager", "base"})
# What every named tuple has; the underscore keeps them apart from fields.
OF_TUPLES = frozenset({"_asdict", "_fields", "_make", "_replace"})

PURE_MODULES = [module for module in modules() if module.is_pure]
# What a pure module may import: what is pure, errors, and what may be asked of the outside.
OPEN = {"__init__.py"} | {
    module.name
    for module in modules()
    if module.is_pure or module.name == "core/errors.py" or module.name.endswith("/ports.py")
}


def test_pure_modules_never_wait() -> None:
    """Who may wait is named in source_tree.py."""
    assert offences(waiting, PURE_MODULES) == []


def waiting(module: Module) -> Iterator[tuple[int, str]]:
    for node in module.nodes:
        if isinstance(node, ast.AsyncFunctionDef | ast.Await | ast.AsyncFor | ast.AsyncWith):
            yield node.lineno, "waits"


def test_pure_modules_touch_nothing() -> None:
    """No clock, no luck, no files, no sockets, no logs."""
    assert offences(impure_calls, PURE_MODULES) == []


def impure_calls(module: Module) -> Iterator[tuple[int, str]]:
    for call, name in calls(module):
        if name in IMPURE_CALLS:
            yield call.lineno, f"calls {name}()"


def test_pure_modules_import_only_what_is_pure() -> None:
    assert offences(impure_imports, PURE_MODULES) == []


def impure_imports(module: Module) -> Iterator[tuple[int, str]]:
    allowed = [names for start, names in PURE_LIBRARIES.items() if module.name.startswith(start)]
    libraries = set[str]().union(*allowed) | ALSO_ALLOWED.get(module.name, set())
    for line, dotted in imports(module):
        if not _is_pure_import(dotted, libraries):
            yield line, f"imports {dotted}"


def _is_pure_import(dotted: str, libraries: set[str]) -> bool:
    if top(dotted) == "headwater":
        return _file_of(dotted) in OPEN
    if any(dotted == name or dotted.startswith(f"{name}.") for name in NOT_PURE):
        return False
    return top(dotted) in PURE_STDLIB | libraries


def _file_of(dotted: str) -> str:
    """The module that is imported, or that holds the name that is."""
    inside = "/".join(dotted.split(".")[1:])
    around = inside.rpartition("/")[0]
    places = (f"{inside}.py", f"{inside}/__init__.py", f"{around}.py", f"{around}/__init__.py")
    return next(place.removeprefix("/") for place in places if (SRC / place.strip("/")).is_file())


def test_the_pure_modules_are_really_there() -> None:
    """The tests above really saw the modules they speak of."""
    assert {"feeds/schedule/decide_next_visit.py", "core/values/url.py"} <= {
        module.name for module in PURE_MODULES
    }
    assert [module.name for module in PURE_MODULES if module.name.endswith("_rows.py")] == []


def test_every_module_begins_with_one_sentence() -> None:
    """The first line of its docstring is a whole sentence that says what it is for."""
    assert offences(no_first_sentence, modules()) == []


def no_first_sentence(module: Module) -> Iterator[tuple[int, str]]:
    docstring = ast.get_docstring(module.tree)
    if docstring is None:
        yield 1, "has no docstring"
    elif not docstring.splitlines()[0].endswith("."):
        yield 1, "begins with a line that is no sentence"


def test_no_module_has_an_empty_name() -> None:
    assert offences(empty_names, modules()) == []


def empty_names(module: Module) -> Iterator[tuple[int, str]]:
    for name in EMPTY_NAMES & set(module.name.removesuffix(".py").split("/")):
        yield 1, f"{name} says nothing"


def test_our_own_imports_stand_at_the_top() -> None:
    """One under a condition, such as that only types are looked at, is how a cycle hides."""
    assert offences(hidden_imports, modules()) == []


def hidden_imports(module: Module) -> Iterator[tuple[int, str]]:
    open_imports = {id(node) for node in module.tree.body}
    for node in module.nodes:
        for line, dotted in imports_of(node):
            if top(dotted) == "headwater" and id(node) not in open_imports:
                yield line, f"imports {dotted} below the top"


def test_no_private_name_crosses_a_module() -> None:
    assert offences(private_names_of_others, modules()) == []


def private_names_of_others(module: Module) -> Iterator[tuple[int, str]]:
    others = set[str]()
    for node in module.nodes:
        if isinstance(node, ast.ImportFrom) and top(node.module or "") == "headwater":
            for alias in node.names:
                others.add(alias.asname or alias.name)
                if _is_private(alias.name):
                    yield node.lineno, f"imports {alias.name} of {node.module}"
    for node in module.nodes:
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            if node.value.id in others and _is_private(node.attr) and node.attr not in OF_TUPLES:
                yield node.lineno, f"uses {node.attr} of {node.value.id}"


def _is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")


def test_the_map_has_every_area() -> None:
    """A file is named with its suffix, a folder with a slash; and nothing else is on the map."""
    drawn = (ROOT / "ARCHITECTURE.md").read_text("utf-8").split("```")[1].splitlines()
    named = {line.split()[0] for line in drawn if line.startswith("  ")}
    there = {path.name for path in SRC.glob("*.py")} - {"__init__.py"}
    folders = {f"{path.parent.name}/" for path in SRC.glob("*/__init__.py")}
    assert named == there | folders
