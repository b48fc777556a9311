"""Each foreign library has its place, so that each danger has one gate.

Libraries that have no place at all are banned in pyproject.toml, under ruff's banned-api.
"""

import ast
from collections.abc import Iterator

from tests.support.source_tree import Module, calls, imports, modules, offences, top

# Library → where it may be imported (the start of a module's name).
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
    # Command line and clients talk to a running Headwater, never to what a feed named.
    "http.client": ("entrypoints/cli/http_connection.py",),
    "http.server": ("sdk/listener.py",),
    # These reach what the operator configured, and nothing that a feed named.
    "redis": ("sinks/kinds/redis", "personal_feeds/redis/"),
    "nats": ("sinks/kinds/nats",),
}

HARDENED = ("parse/xml_tree.py", "core/values/safe_xml.py")
XML_PARSERS = frozenset(
    {"XMLParser", "XMLPullParser", "ETCompatXMLParser", "HTMLParser", "HTMLPullParser", "iterparse"}
)
XML_READERS = frozenset({"fromstring", "fromstringlist", "XML", "XMLID", "HTML", "parse"})


def test_every_library_stays_in_its_place() -> None:
    assert offences(strangers, modules()) == []


def strangers(module: Module) -> Iterator[tuple[int, str]]:
    for line, dotted in imports(module):
        for library, places in PLACES.items():
            is_it = dotted == library or dotted.startswith(f"{library}.")
            if is_it and not module.name.startswith(places):
                yield line, f"imports {dotted}"


def test_xml_parsers_are_made_only_where_they_are_hardened() -> None:
    """A parser made elsewhere could resolve entities, load DTDs or grow without bound."""
    assert offences(soft_parsers, modules()) == []


def soft_parsers(module: Module) -> Iterator[tuple[int, str]]:
    if module.name in HARDENED:
        return
    lxml = _names_from_lxml(module)
    for call, name in calls(module):
        if not _is_of(call, lxml):
            continue
        if name in XML_PARSERS:
            yield call.lineno, f"{name}() makes an XML parser"
        has_parser = len(call.args) > 1 or any(word.arg == "parser" for word in call.keywords)
        if name in XML_READERS and not has_parser:
            yield call.lineno, f"{name}() reads XML without a hardened parser"


def _names_from_lxml(module: Module) -> set[str]:
    return {
        alias.asname or alias.name
        for node in module.nodes
        if isinstance(node, ast.ImportFrom) and top(node.module or "") == "lxml"
        for alias in node.names
    } | {
        alias.asname or top(alias.name)
        for node in module.nodes
        if isinstance(node, ast.Import)
        for alias in node.names
        if top(alias.name) == "lxml"
    }


def _is_of(call: ast.Call, names: set[str]) -> bool:
    owner = call.func
    while isinstance(owner, ast.Attribute):
        owner = owner.value
    return isinstance(owner, ast.Name) and owner.id in names


def test_the_gate_is_really_there() -> None:
    """These tests would pass on an empty folder; this one would not."""
    seen = {top(dotted) for module in modules() for _, dotted in imports(module)}
    assert {"pycurl", "sqlalchemy", "lxml", "pydantic"} <= seen
