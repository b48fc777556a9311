"""The strings of the source, read without running it: the lines of the log, and all other texts."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from tests.support.source_tree import Module

LEVELS = frozenset({"debug", "info", "warning", "error", "exception", "critical", "log"})
"""Methods of a logger; `log` takes its level as its first argument."""
LOGGER_MAKERS = frozenset({"get_logger", "getLogger"})
MODULE_NAME = re.compile(
    r"headwater(\.\w+)+(:\w+)?|src/headwater/.*|(\w+/)*\w+\.(py|pyx|proto)|[\w.]+:\w+"
)
"""Where code stands is no text: it changes when a file moves."""


class LoggedLine(NamedTuple):
    """One way a line of the log may be written. Text in braces is known when it runs."""

    logger: str
    level: str
    event: str
    facts: tuple[str, ...]


Import = tuple[str, str]
"""A module, and a name in it."""
Method = tuple[str, str]
"""The name of a logger, and the level that its method stands for."""


@dataclass(frozen=True)
class LogSource:
    """A file of the source, and what the names in it stand for where it writes to the log."""

    file: Module

    @cached_property
    def nodes(self) -> tuple[ast.AST, ...]:
        return tuple(ast.walk(self.file.tree))

    @cached_property
    def own_loggers(self) -> dict[str, str]:
        """The loggers that are made here, by what they are called here: `logger`, `self._log`."""
        return {
            ast.unparse(target): name
            for node in self.nodes
            if isinstance(node, ast.Assign) and (name := _made_logger(node.value)) is not None
            for target in node.targets
        }

    @property
    def module(self) -> str:
        return "headwater." + self.file.name.removesuffix(".py").replace("/", ".")

    def imported_loggers(self, loggers: Mapping[Import, str]) -> dict[str, str]:
        return {
            alias.asname or alias.name: loggers[node.module, alias.name]
            for node in self.nodes
            if isinstance(node, ast.ImportFrom) and node.module
            for alias in node.names
            if (node.module, alias.name) in loggers
        }

    def lines(self, all_loggers: Mapping[Import, str]) -> Iterator[LoggedLine]:
        loggers = self.imported_loggers(all_loggers) | self.own_loggers
        other_names = self._other_names(loggers)
        for node in self.nodes:
            if isinstance(node, ast.Call):
                match node.func:
                    case ast.Name(id=name):
                        methods = other_names[name]
                    case ast.Call(func=ast.Name(id=name)):
                        methods = other_names[f"{name}()"]
                    case _:
                        methods = _named_methods(node.func, loggers)
                for logger, level in methods:
                    yield from _lines_of_call(node, logger, level)

    def _other_names(self, loggers: Mapping[str, str]) -> defaultdict[str, set[Method]]:
        """Variables that hold a method of a logger (`say = logger.error if … else logger.info`),
        and, with brackets behind their names, functions that return one."""
        names: defaultdict[str, set[Method]] = defaultdict(set)
        for node in self.nodes:
            if isinstance(node, ast.Assign):
                for target in node.targets:
                    if isinstance(target, ast.Name):
                        names[target.id] |= _named_methods(node.value, loggers)
            elif isinstance(node, ast.FunctionDef):
                for inner in ast.walk(node):
                    if isinstance(inner, ast.Return):
                        names[f"{node.name}()"] |= _named_methods(inner.value, loggers)
        return names


def logged_lines(files: Sequence[Module]) -> set[LoggedLine]:
    """Every line that these files may write to the log."""
    sources = [LogSource(file) for file in files]
    loggers = {
        (source.module, variable): logger
        for source in sources
        for variable, logger in source.own_loggers.items()
    }
    return {line for source in sources for line in source.lines(loggers)}


def _lines_of_call(call: ast.Call, logger: str, level: str) -> Iterator[LoggedLine]:
    arguments = call.args
    if level == "log" and arguments:
        level, arguments = _shown(arguments[0]), arguments[1:]
    facts = tuple(sorted(fact.arg or "**" for fact in call.keywords))
    for event in _events(arguments):
        yield LoggedLine(logger, level, event, facts)


def _named_methods(value: ast.expr | None, loggers: Mapping[str, str]) -> set[Method]:
    match value:
        case ast.Attribute(value=logger, attr=level) if level in LEVELS:
            name = _logger_name(logger, loggers)
            return set() if name is None else {(name, level)}
        case ast.IfExp(body=one, orelse=other):
            return _named_methods(one, loggers) | _named_methods(other, loggers)
        case _:
            return set()


def _logger_name(logger: ast.expr, loggers: Mapping[str, str]) -> str | None:
    """None for what is no logger; "?" for one that comes from where we do not look."""
    text = ast.unparse(logger)
    name = _made_logger(logger) or loggers.get(text)
    if name is None and text.rpartition(".")[2].lstrip("_") in {"log", "logger"}:
        return "?"
    return name


def _made_logger(value: ast.expr) -> str | None:
    """The name in `get_logger("name")`."""
    match value:
        case ast.Call(func=ast.Name(id=maker) | ast.Attribute(attr=maker), args=[name]) if (
            maker in LOGGER_MAKERS
        ):
            return _shown(name)
        case _:
            return None


def _events(arguments: Sequence[ast.expr]) -> Iterator[str]:
    match arguments:
        case [ast.IfExp(body=one, orelse=other), *_]:
            yield from _events([one])
            yield from _events([other])
        case [event, *_]:
            yield _shown(event)


def _shown(value: ast.expr) -> str:
    """A literal as it is, everything else as its source."""
    if isinstance(value, ast.Constant) and isinstance(value.value, str):
        return value.value
    return f"{{{ast.unparse(value)}}}"


def texts(node: ast.AST) -> Iterator[str]:
    """Every string but docstrings, annotations and names of modules."""
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return
    if isinstance(node, ast.Assign) and "__all__" in map(ast.unparse, node.targets):
        return
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        if not MODULE_NAME.fullmatch(node.value):
            yield node.value
        return
    for field, value in ast.iter_fields(node):
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield from _annotation_texts(child) if field in _ANNOTATIONS else texts(child)


_ANNOTATIONS = frozenset({"annotation", "returns"})


def _annotation_texts(annotation: ast.AST) -> Iterator[str]:
    """Types are no texts, but the help of an option may stand beside its type."""
    for node in ast.walk(annotation):
        if isinstance(node, ast.Call):
            yield from texts(node)
