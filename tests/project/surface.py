"""The surface of Headwater as text: everything that people and other programs see of it.

`make surface > before.txt`, change something, `make surface > after.txt`, then compare the two:
a difference is a decision or a defect. Things are looked up by name, wherever their modules stand;
only what other programs import is looked up where they import it. The strings of the source come
last: they may change with any message, the other parts only with a promise.
"""

import asyncio
import enum
import hashlib
import inspect
import json
import pkgutil
import re
import sys
import tempfile
import types
import urllib.request
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import typer
from typer.core import TyperGroup
from typer.main import get_command
from typer.testing import CliRunner

import headwater
from tests.support import docs_pages
from tests.support.database_schema import postgres_schema, sqlite_schema
from tests.support.schedule_script import scripted_diary, scripted_reasons
from tests.support.servers import Postgres, running_postgres
from tests.support.service import command, environment, service
from tests.support.source_strings import logged_lines, texts
from tests.support.source_tree import SRC
from tests.support.source_tree import modules as source_files

PUBLIC_MODULES = (
    "headwater.client",
    "headwater.parse",
    "headwater.sdk",
    "headwater.sdk.client",
    "headwater.sdk.fetcher",
)
GRPC_STUBS = (
    "headwater.client.grpc.headwater_pb2",
    "headwater.client.grpc.headwater_pb2_grpc",
    "headwater.entrypoints.rpc.headwater_pb2",
    "headwater.entrypoints.rpc.headwater_pb2_grpc",
)
PUBLIC_OBJECTS = (
    ("headwater.anime.title", "read_title"),
    ("headwater.entrypoints.api.app", "create_app"),
    ("headwater.entrypoints.cli.main", "main"),
    ("headwater.subscriptions.fetchers.builtin", "BuiltinFetcher"),
)

TERMINAL = {"COLUMNS": "120", "NO_COLOR": "1", "TERM": "dumb"}

_ANY_OTHER_PROBLEM = 1
"""The exit code where no other one fits."""

Record = dict[str, Any]


def migrations() -> Iterable[str]:
    return sorted(path.name for path in SRC.rglob("migrations/versions/v*.py"))


def schema_of_sqlite() -> Iterable[str]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "headwater.sqlite"
        _migrate(f"sqlite:///{path}")
        return list(sqlite_schema(path))


def schema_of_postgres() -> Iterable[str]:
    with running_postgres() as server:
        return asyncio.run(_schema_of_postgres(server))


async def _schema_of_postgres(server: Postgres) -> list[str]:
    name = await server.create()
    try:
        await asyncio.to_thread(_migrate, server.url_of(name))
        return await postgres_schema(server.url_of(name))
    finally:
        await server.drop(name)


def _migrate(url: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        migrated = command(environment(Path(folder), DATABASE_URL=url), "migrate")
    if migrated.code != 0:
        raise RuntimeError(f"headwater migrate failed: {migrated.err}")


def protocol() -> Iterable[str]:
    return [path.read_text("utf-8") for path in sorted(SRC.rglob("*.proto"))]


def commands() -> Iterator[str]:
    """The help of every command, and what the help does not show of its parameters."""
    [program] = {
        id(thing): thing
        for module in modules()
        for thing in vars(module).values()
        if isinstance(thing, typer.Typer) and thing.info.name == "headwater"
    }.values()
    yield from _commands(program, get_command(program), [])


def _commands(program: typer.Typer, shown: Any, path: list[str]) -> Iterator[str]:
    answer = CliRunner(env=TERMINAL).invoke(program, [*path, "--help"], catch_exceptions=False)
    yield f"-- headwater {' '.join(path)} (exit code {answer.exit_code})"
    yield from (line.rstrip() for line in answer.output.splitlines())
    for parameter in shown.params:
        names = [*parameter.opts, *parameter.secondary_opts]
        facts = {name: getattr(parameter, name) for name in ("nargs", "required", "envvar")}
        hidden = " hidden" if getattr(parameter, "hidden", False) else ""
        yield f"   {parameter.param_type_name} {names} {facts} = {parameter.default!r}{hidden}"
    if isinstance(shown, TyperGroup):
        context = typer.Context(shown)
        for name in sorted(shown.list_commands(context)):
            yield from _commands(program, shown.get_command(context, name), [*path, name])


def exit_codes() -> Iterator[str]:
    for code, meaning in find("MEANINGS").items():
        yield f"{int(code)}: {meaning}"
    for status in range(400, 600):
        code = find("exit_code_of")(_error(find("HeadwaterError"), status=status))
        if code != _ANY_OTHER_PROBLEM:
            yield f"HTTP {status}: {int(code)}"


def error_codes() -> Iterable[str]:
    """Of every error: its code, the status of HTTP, the exit code, and the status of gRPC."""
    lines, kinds = set(), [find("HeadwaterError")]
    while kinds:
        kind = kinds.pop()
        kinds += kind.__subclasses__()
        if _is_ours(kind):
            trouble = _error(kind)
            exit_code, status = find("exit_code_of")(trouble), find("status_of")(trouble)
            lines.add(f"{kind.code} {int(kind.status)} {int(exit_code)} {status.name}")
    return sorted(lines)


def _error(kind: Any, **facts: Any) -> Any:
    """One that nobody raised: what its constructor asks for does not matter here."""
    trouble = kind.__new__(kind)
    for name, value in facts.items():
        setattr(trouble, name, value)
    return trouble


def visit_failures() -> Iterable[str]:
    return sorted(f"{code}: {text}" for code, text in find("FAILURE_TEXTS").items())


def settings() -> Iterator[str]:
    kind = find("Settings")
    defaults = kind.model_construct()
    yield f"prefix: {kind.model_config['env_prefix']}"
    for name, field in sorted(kind.model_fields.items()):
        aliases = getattr(field.validation_alias, "choices", [])
        yield f"{name} = {getattr(defaults, name)!r} {aliases}"
    yield _json(kind.model_json_schema())


def enums() -> Iterable[str]:
    """The values alone: other programs meet them in records, not by the name of their class."""
    return sorted(
        {
            str([(member.name, member.value) for member in thing])
            for module in modules()
            for thing in vars(module).values()
            if isinstance(thing, type) and issubclass(thing, enum.Enum) and _is_ours(thing)
        }
    )


class ServiceAnswers(NamedTuple):
    openapi: Record
    metrics: str
    event_types: list[str]


@lru_cache(maxsize=1)
def ask_service() -> ServiceAnswers:
    """A service that runs for a moment, on loopback and in a folder of its own."""
    with tempfile.TemporaryDirectory() as folder, service(environment(Path(folder))) as running:
        _, openapi = running.get("/openapi.json")
        _, refusal = running.get("/events?type=no_such_type")
        with urllib.request.urlopen(f"{running.url}/metrics") as answer:
            metrics = answer.read().decode()
        running.stop()
    return ServiceAnswers(openapi, metrics, refusal["known"])


def event_types() -> Iterable[str]:
    return ask_service().event_types


def openapi_document() -> Iterable[str]:
    return OpenApi(ask_service().openapi).document()


def openapi_schemas() -> Iterable[str]:
    return OpenApi(ask_service().openapi).schemas()


def openapi_schema_names() -> Iterable[str]:
    return OpenApi(ask_service().openapi).schema_names()


class OpenApi:
    """The document with its schemas named by what they say.

    So a schema that has only a new name shows once, in the list of names.
    """

    def __init__(self, page: Record) -> None:
        self._schemas: dict[str, Record] = page["components"]["schemas"]
        self._page = page | {"components": {**page["components"], "schemas": {}}}

    def document(self) -> Iterator[str]:
        yield _json(self._with_marks(self._page, ()))

    def schemas(self) -> Iterable[str]:
        bodies = {self._mark(name, ()): self._body(name, ()) for name in self._schemas}
        return [f"{mark} {body}" for mark, body in sorted(bodies.items())]

    def schema_names(self) -> Iterable[str]:
        return sorted(f"{self._mark(name, ())} {name}" for name in self._schemas)

    def _mark(self, name: str, inside: tuple[str, ...]) -> str:
        return hashlib.sha256(self._body(name, inside).encode()).hexdigest()[:12]

    def _body(self, name: str, inside: tuple[str, ...]) -> str:
        schema = self._with_marks(self._schemas[name], (*inside, name))
        if schema.get("title") in {name, name.rpartition("__")[2]}:
            del schema["title"]
        return _json(schema)

    def _with_marks(self, value: Any, inside: tuple[str, ...]) -> Any:
        """The same with a mark for every name; `inside` are the schemas around it."""
        if isinstance(value, list):
            return [self._with_marks(item, inside) for item in value]
        if not isinstance(value, dict):
            return value
        name = str(value.get("$ref", "")).rpartition("/")[2]
        if name in self._schemas:
            return {"$ref": "itself" if name in inside else self._mark(name, inside)}
        return {key: self._with_marks(item, inside) for key, item in value.items()}


def metrics() -> Iterable[str]:
    """What a fresh service shows, without values: names, kinds, words, labels and bounds."""
    lines = ask_service().metrics.splitlines()
    return sorted(
        {line if line.startswith("#") else line.rpartition(" ")[0] for line in lines if line}
    )


def documented_metrics() -> Iterable[str]:
    """With the labels of those that have no value yet. A test proves that the page is right."""
    return sorted(f"{name}: {cells}" for name, cells in docs_pages.rows("docs/metrics.md").items())


def log_lines() -> Iterable[str]:
    """Logger, level, name and facts of each line."""
    return sorted(
        f"{line.logger} {line.level} {line.event!r} {' '.join(line.facts)}".rstrip()
        for line in logged_lines(source_files())
    )


def schedule_reasons() -> Iterable[str]:
    return scripted_reasons(find("replay_decision"))


def schedule_diary() -> Iterable[str]:
    return scripted_diary(find("replay_decision"))


def public_imports() -> Iterator[str]:
    for name in PUBLIC_MODULES:
        package = ".".join(name.split(".")[:2])
        yield name
        for key, thing in _public(import_module(name)):
            is_of_package = getattr(thing, "__module__", "").startswith(package)
            if is_of_package or isinstance(thing, types.UnionType):
                yield from _described(f"{name} {key}", thing)
    for name in GRPC_STUBS:
        for key, _ in _public(import_module(name)):
            yield f"{name} {key}"
    for name, key in PUBLIC_OBJECTS:
        yield from _described(f"{name} {key}", getattr(import_module(name), key))


def _public(thing: Any) -> Iterator[tuple[str, Any]]:
    for name, value in sorted(vars(thing).items()):
        if not name.startswith("_") and not inspect.ismodule(value):
            yield name, value


def _described(name: str, thing: Any) -> Iterator[str]:
    """Its signature; of a class also those of its members."""
    if isinstance(thing, types.UnionType):
        yield f"{name} = {_plain(str(thing))}"
        return
    yield f"{name}{_signature(thing)}"
    if isinstance(thing, type):
        for member, value in _public(thing):
            if isinstance(value, classmethod | staticmethod):
                value = value.__func__
            yield f"    {member}{_signature(value) if inspect.isfunction(value) else ''}"


def _signature(thing: Any) -> str:
    return _plain(str(inspect.signature(thing)))


def _plain(text: str) -> str:
    """Without the modules that names stand in, and without what a default is in memory."""
    return re.sub(r"\b(?:[a-z_]\w*\.)+(?=\w)", "", re.sub(r"<[^<>]*>", "…", text))


def strings() -> Iterable[str]:
    return sorted({ascii(text) for file in source_files() for text in texts(file.tree)})


@lru_cache(maxsize=1)
def modules() -> tuple[types.ModuleType, ...]:
    """All of Headwater but `migrations/env.py`, which runs inside of Alembic only."""
    walk = pkgutil.walk_packages(headwater.__path__, "headwater.")
    return tuple(
        import_module(found.name) for found in walk if found.name != "headwater.migrations.env"
    )


def find(name: str) -> Any:
    """The one thing of this name, wherever its module stands."""
    things = {
        id(vars(module)[name]): vars(module)[name] for module in modules() if name in vars(module)
    }
    if len(things) != 1:
        raise LookupError(f"{len(things)} things are named {name}, so none is sure to be meant.")
    [thing] = things.values()
    return thing


def _is_ours(thing: Any) -> bool:
    return str(getattr(thing, "__module__", "")).startswith("headwater")


def _json(value: Any) -> str:
    return json.dumps(value, indent=1, sort_keys=True, default=str)


PARTS: Mapping[str, Callable[[], Iterable[str]]] = {
    "commands": commands,
    "exit codes": exit_codes,
    "errors: code, status, exit code, gRPC": error_codes,
    "failures of a visit": visit_failures,
    "settings": settings,
    "enums": enums,
    "metrics with all labels": documented_metrics,
    "lines of the log": log_lines,
    "migrations": migrations,
    "reasons of the schedule": schedule_reasons,
    "diary of a feed": schedule_diary,
    "gRPC": protocol,
    "imports for other programs": public_imports,
    "strings of the source": strings,
}
PARTS_OF_A_SERVICE: Mapping[str, Callable[[], Iterable[str]]] = {
    "schema of SQLite": schema_of_sqlite,
    "schema of PostgreSQL": schema_of_postgres,
    "events": event_types,
    "metrics": metrics,
    "OpenAPI: document": openapi_document,
    "OpenAPI: schemas": openapi_schemas,
    "OpenAPI: names of schemas": openapi_schema_names,
}
"""These start Headwater itself, and a database."""


def main() -> None:
    """Print every part. One that fails, or has nothing to say, ends the run and is named."""
    for title, part in {**PARTS_OF_A_SERVICE, **PARTS}.items():
        try:
            text = "\n".join(part())
        except Exception as trouble:
            trouble.add_note(f"The part that failed: {title}")
            raise
        if not text:
            sys.exit(f"The part that is empty: {title}")
        sys.stdout.write(f"==== {title}\n{text}\n\n")


if __name__ == "__main__":
    main()
