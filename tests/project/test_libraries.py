"""Each foreign library has its place, so that each danger has one gate."""

import ast

import pytest

from tests.support.source_tree import Room, calls, imports, rooms, top

# Library → where it may be imported (the start of a room's name).
PLACES = {
    # One HTTP client: every request passes the same address gate.
    "pycurl": ("web/", "adapters/library_versions.py"),
    # The databases' own languages stay in the adapter and in the migrations.
    "sqlalchemy": ("adapters/", "migrations/"),
    "alembic": ("adapters/", "migrations/"),
    "asyncpg": ("adapters/",),
    "sqlite3": ("adapters/",),
    "obstore": ("adapters/",),
    # One place seals secrets.
    "cryptography": ("adapters/vault.py",),
    # One place cleans what goes out as HTML; one writes columns.
    "nh3": ("publish/clean_html.py",),
    "pyarrow": ("entrypoints/cli/export_parquet.py",),
    # Schemas of strangers are looked through before they are used.
    "jsonschema_rs": ("subscriptions/fetchers/config_schema.py",),
    # Shapes of the outside are checked at the border and turned into our nouns there.
    "pydantic": ("entrypoints/", "settings/"),
    "pydantic_settings": ("settings/",),
    "fastapi": ("entrypoints/",),
    "starlette": ("entrypoints/",),
    "uvicorn": ("entrypoints/",),
    "typer": ("entrypoints/",),
    "click": ("entrypoints/",),
    "rich": ("entrypoints/",),
    "uvloop": ("entrypoints/",),
    "structlog": ("core/telemetry/",),
    # Loaded when traces are configured, and only there.
    "opentelemetry": ("adapters/otlp.py",),
    # gRPC is a way in like any other.
    "grpc": ("entrypoints/grpc/", "client/grpc/"),
    "google.protobuf": ("entrypoints/grpc/", "client/grpc/"),
    # A reader that lost its connection rests for a time of its own, so that not all come at once.
    "random": ("adapters/", "client/follow_events.py"),
    "subprocess": ("adapters/", "entrypoints/"),
    "multiprocessing": ("adapters/",),
    "socket": (
        "adapters/",
        "web/",
        "entrypoints/",
        "client/conversation.py",
        "feeds/worker/claims.py",
    ),
    # A second way out to the network, or code from bytes: nowhere.
    "urllib.request": (),
    # Command line and clients talk to a running Headwater, never to what a feed named.
    "http.client": ("entrypoints/cli/api_caller.py",),
    "http.server": ("sdk/listener.py",),
    # These reach what the operator configured, and nothing that a feed named.
    "redis": ("sinks/kinds/redis", "personal_feeds/redis/"),
    "nats": ("sinks/kinds/nats",),
    "requests": (),
    "httpx": (),
    "aiohttp": (),
    "urllib3": (),
    "websockets": (),
    "ftplib": (),
    "smtplib": (),
    "xml": (),
    "pickle": (),
    "marshal": (),
}

# A plain function that happens to live beside a client.
HARMLESS = frozenset({"urllib.request.url2pathname"})

HARDENED = ("parse/xml_tree.py", "core/values/safe_xml.py")
XML_PARSERS = frozenset(
    {"XMLParser", "XMLPullParser", "ETCompatXMLParser", "HTMLParser", "HTMLPullParser", "iterparse"}
)
XML_READERS = frozenset({"fromstring", "fromstringlist", "XML", "XMLID", "HTML", "parse"})


def name_of(room: Room) -> str:
    return room.name


@pytest.mark.parametrize("room", rooms(), ids=name_of)
def test_every_library_stays_in_its_place(room: Room) -> None:
    strangers = [
        f"{room.name}:{line} {module}"
        for line, module in imports(room.tree)
        if module not in HARMLESS
        for library, places in PLACES.items()
        if (module == library or module.startswith(f"{library}."))
        and not room.name.startswith(places)
    ]
    assert strangers == []


@pytest.mark.parametrize("room", rooms(), ids=name_of)
def test_xml_parsers_are_made_only_where_they_are_hardened(room: Room) -> None:
    """A parser made elsewhere could resolve entities, load DTDs or grow without bound."""
    if room.name in HARDENED:
        return
    lxml = _names_from_lxml(room.tree)
    for call, name in calls(room.tree):
        if not _is_of(call, lxml):
            continue
        where = f"{room.name}:{call.lineno} {name}()"
        assert name not in XML_PARSERS, f"{where} makes an XML parser"
        if name in XML_READERS:
            given = len(call.args) > 1 or any(word.arg == "parser" for word in call.keywords)
            assert given, f"{where} reads XML without a hardened parser"


def _names_from_lxml(tree: ast.AST) -> set[str]:
    return {
        alias.asname or alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and top(node.module or "") == "lxml"
        for alias in node.names
    } | {
        alias.asname or top(alias.name)
        for node in ast.walk(tree)
        if isinstance(node, ast.Import)
        for alias in node.names
        if top(alias.name) == "lxml"
    }


def _is_of(call: ast.Call, names: set[str]) -> bool:
    owner = call.func
    while isinstance(owner, ast.Attribute):
        owner = owner.value
    return isinstance(owner, ast.Name) and owner.id in names


@pytest.mark.parametrize("room", rooms(), ids=name_of)
def test_only_the_ways_in_print(room: Room) -> None:
    if room.name.startswith("entrypoints/"):
        return
    assert [
        f"{room.name}:{call.lineno}" for call, name in calls(room.tree) if name == "print"
    ] == []


def test_the_gate_is_really_there() -> None:
    """These tests would pass on an empty folder; this one would not."""
    seen = {top(module) for room in rooms() for _, module in imports(room.tree)}
    assert {"pycurl", "sqlalchemy", "lxml", "pydantic"} <= seen
