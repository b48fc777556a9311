"""Every line knows its room: purity and direction, checked on the source itself."""

import ast

import pytest

from tests.support.source_tree import (
    ROOT,
    SRC,
    Room,
    calls,
    imports,
    rooms,
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

ROOMS = rooms()
PURE_ROOMS = [room for room in ROOMS if room.is_pure]
# What a pure room may import: what is pure, errors, and what may be asked of the outside.
OPEN = {"__init__.py"} | {
    room.name
    for room in ROOMS
    if room.is_pure or room.name == "core/errors.py" or room.name.endswith("/ports.py")
}


def name_of(room: Room) -> str:
    return room.name


@pytest.mark.parametrize("room", PURE_ROOMS, ids=name_of)
def test_pure_rooms_never_wait(room: Room) -> None:
    """Who may wait is named in source_tree.py."""
    waits = ast.AsyncFunctionDef | ast.Await | ast.AsyncFor | ast.AsyncWith
    assert [
        f"{room.name}:{node.lineno}" for node in ast.walk(room.tree) if isinstance(node, waits)
    ] == []


@pytest.mark.parametrize("room", PURE_ROOMS, ids=name_of)
def test_pure_rooms_touch_nothing(room: Room) -> None:
    """No clock, no luck, no files, no sockets, no logs."""
    found = [
        f"{room.name}:{call.lineno} {name}()"
        for call, name in calls(room.tree)
        if name in IMPURE_CALLS
    ]
    assert found == []


@pytest.mark.parametrize("room", PURE_ROOMS, ids=name_of)
def test_pure_rooms_import_only_what_is_pure(room: Room) -> None:
    found = [also for start, also in PURE_LIBRARIES.items() if room.name.startswith(start)]
    libraries = set[str]().union(*found) | ALSO_ALLOWED.get(room.name, set())
    strangers = [
        f"{room.name}:{line} {module}"
        for line, module in imports(room.tree)
        if not _is_pure_import(module, libraries)
    ]
    assert strangers == []


def _is_pure_import(module: str, libraries: set[str]) -> bool:
    if top(module) == "headwater":
        inside = "/".join(module.split(".")[1:])
        around = inside.rpartition("/")[0]
        places = (f"{inside}.py", f"{inside}/__init__.py", f"{around}.py", f"{around}/__init__.py")
        found = [place.removeprefix("/") for place in places if (SRC / place.strip("/")).is_file()]
        return found[0] in OPEN
    if any(module == name or module.startswith(f"{name}.") for name in NOT_PURE):
        return False
    return top(module) in PURE_STDLIB | libraries


@pytest.mark.parametrize("room", ROOMS, ids=name_of)
def test_every_room_says_what_it_is_for(room: Room) -> None:
    said = ast.get_docstring(room.tree)
    assert said, f"{room.name} has no docstring"
    assert said[-1] in ".…`)" or "\n" in said, f"{room.name}: not a sentence: {said!r}"


@pytest.mark.parametrize("room", ROOMS, ids=name_of)
def test_no_room_has_an_empty_name(room: Room) -> None:
    assert not EMPTY_NAMES & set(room.name.removesuffix(".py").split("/"))


@pytest.mark.parametrize("room", ROOMS, ids=name_of)
def test_imports_stand_at_the_top(room: Room) -> None:
    """An import inside a function, or of our own only for types, is how a cycle hides."""
    hidden = [
        f"{room.name}:{line} {module}"
        for node in ast.walk(room.tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.If)
        for line, module in imports(node)
        if top(module) == "headwater" or not isinstance(node, ast.If)
    ]
    assert hidden == []


def test_the_map_has_every_room_at_the_root() -> None:
    """A file is named with its suffix, a folder with a slash; and nothing else is on the map."""
    drawn = (ROOT / "ARCHITECTURE.md").read_text("utf-8").split("```")[1].splitlines()
    named = {line.split()[0] for line in drawn if line.startswith("  ")}
    there = {path.name for path in SRC.glob("*.py")} - {"__init__.py"}
    folders = {f"{path.parent.name}/" for path in SRC.glob("*/__init__.py")}
    assert named == there | folders


def test_modules_of_rows_are_not_pure() -> None:
    """The tests above really saw the rooms they speak of."""
    assert {"feeds/schedule/decide_next_visit.py", "core/values/url.py"} <= {
        room.name for room in PURE_ROOMS
    }
    assert [room.name for room in PURE_ROOMS if room.name.endswith("_rows.py")] == []
