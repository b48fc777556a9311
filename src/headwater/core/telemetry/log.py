"""Log lines: one line per fact, JSON for programs, colour for people, no secret in either.

JSON lines are made by `_json` in one step, as every visit writes one: `_json_if_clean` is its fast
path, `_cleaned_json` cleans fact by fact. Lines for people go through structlog's usual chain.
"""

import asyncio
import atexit
import logging
import re
import sys
from collections import deque
from collections.abc import Mapping, MutableMapping
from contextlib import suppress
from datetime import UTC, datetime
from functools import lru_cache
from json import dumps
from time import time_ns
from typing import Any, Literal, TextIO, cast

import orjson
import structlog
from structlog.dev import ConsoleRenderer, plain_traceback
from structlog.typing import FilteringBoundLogger, Processor

from headwater.core.telemetry import trace
from headwater.core.values.instant import rfc3339, rfc3339_at
from headwater.core.values.url import redacted

LogFormat = Literal["auto", "json", "text"]
LogLevel = Literal["debug", "info", "warning", "error", "critical"]
LogFacts = MutableMapping[str, Any]

HIDDEN = "REDACTED"
LONGEST_TEXT = 2_000
LONGEST_TRACEBACK = 20_000
DEEPEST = 4

_SECRET_KEY = re.compile(
    r"token|authorization|passw|passphrase|secret|cookie|credential|api.?key|private.?key",
    re.IGNORECASE,
)
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://[^\s\"'<>]+")
_CREDENTIALS = re.compile(r"\b(Bearer|Basic) +[A-Za-z0-9._~+/=-]+", re.IGNORECASE)
_OUR_TOKENS = re.compile(r"hwr?_[A-Za-z0-9_-]{16,}")

# Characters that end a line, move a cursor or reverse the text (attacks on people who read logs).
_CONTROL = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)


_HARMLESS_TYPES = frozenset((int, float, bool, type(None)))
_PLAIN_TYPES = _HARMLESS_TYPES | {str}
_HEAD = frozenset(("timestamp", "level", "logger", "event"))
_with_traceback = structlog.processors.format_exc_info


def configure(
    level: LogLevel = "info", format: LogFormat = "auto", stream: TextIO | None = None
) -> None:
    """Configure logging. An entrypoint calls this once, before the first line is written."""
    out = sys.stderr if stream is None else stream
    writer = LineWriter(out)
    atexit.register(writer.flush)
    as_text = format == "text" or (format == "auto" and out.isatty())
    least = logging.getLevelNamesMapping()[level.upper()]
    leveled = structlog.make_filtering_bound_logger(least)
    structlog.configure(
        processors=_console_processors(out.isatty()) if as_text else [_json],
        wrapper_class=leveled if as_text or least > logging.INFO else _with_fast_info(leveled),
        logger_factory=lambda name="": NamedLogger(writer, name),
        cache_logger_on_first_use=True,
    )
    _take_over_standard_logging(least)


def get_logger(name: str) -> FilteringBoundLogger:
    """Return a logger. It may be called at import: settings are read with the first line."""
    return cast(FilteringBoundLogger, structlog.get_logger(name))


def _with_fast_info(leveled: type[FilteringBoundLogger]) -> type[FilteringBoundLogger]:
    """The same logger with a shorter way for the JSON line that every visit writes."""

    def info(self: Any, event: str, *args: Any, **facts: Any) -> Any:
        if args or self._context or "exc_info" in facts:
            return leveled.info(self, event, *args, **facts)
        logger: NamedLogger = self._logger
        head = _head(logger, "info", event)
        return logger.write_soon(_json_line(head, _with_trace_ids(logger, "info", facts)))

    return type("FastInfoLogger", (leveled,), {"info": info})


class LineWriter:
    """Writes whole lines in their order, so that lines of several threads do not mix.

    Lines that come while an event loop runs wait for the end of its turn: hundreds of visits may
    end in one turn, and each of their lines would be a call to the system.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._waiting: deque[str] = deque()
        self._flushing_loop: asyncio.AbstractEventLoop | None = None

    def write(self, text: str) -> None:
        self._waiting.append(text)
        self.flush()

    def write_soon(self, text: str) -> None:
        self._waiting.append(text)
        loop = asyncio._get_running_loop()
        if loop is None:
            self.flush()
        elif loop is not self._flushing_loop:  # a loop that ended too soon never flushed
            self._flushing_loop = loop
            loop.call_soon(self._flush_at_end_of_turn)

    def flush(self) -> None:
        lines = []
        while self._waiting:
            with suppress(IndexError):  # another thread was quicker
                lines.append(self._waiting.popleft())
        if not lines:
            return
        # A full disk or a closed pipe behind stderr must not end the visit that wanted to log.
        with suppress(OSError, ValueError):
            self._stream.write("\n".join([*lines, ""]))
            self._stream.flush()

    def _flush_at_end_of_turn(self) -> None:
        self._flushing_loop = None
        self.flush()


class NamedLogger:
    """Writes the lines of one logger. Warnings and worse are written at once: the process may be
    about to end."""

    __slots__ = ("_writer", "name")

    def __init__(self, writer: LineWriter, name: str) -> None:
        self._writer = writer
        self.name = name

    def write_soon(self, text: str) -> None:
        self._writer.write_soon(text)

    def write_now(self, text: str) -> None:
        self._writer.write(text)

    debug = info = write_soon
    warning = error = critical = exception = log = msg = write_now


def _console_processors(coloured: bool) -> list[Processor]:
    screen = ConsoleRenderer(
        colors=coloured, pad_event_to=24, sort_keys=False, exception_formatter=plain_traceback
    )
    return [_with_head, _with_trace_ids, _with_traceback, _cleaned, _escape_facts, screen]


def _with_head(logger: NamedLogger, method: str, facts: LogFacts) -> LogFacts:
    facts["logger"] = logger.name
    facts["level"] = method
    facts["timestamp"] = rfc3339(datetime.now(UTC))
    return facts


def _with_trace_ids(_: Any, __: str, facts: LogFacts) -> LogFacts:
    """Name the visit that writes this line, when visits leave a trace."""
    trace_ids = trace.current_trace_ids()
    if trace_ids is not None:
        facts["trace_id"], facts["span_id"] = trace_ids
    return facts


def clean_value(name: str, value: Any) -> Any:
    """Clean a fact that leaves this process: it is bounded and holds no secret."""
    return _clean(name, value, 0)


def _cleaned(_: Any, __: str, facts: LogFacts) -> LogFacts:
    for key, value in facts.items():
        if type(value) not in _HARMLESS_TYPES:
            facts[key] = _clean(key, value, 0)
    return facts


def _clean(key: str, value: Any, depth: int) -> Any:
    if _is_secret(key) and value is not None:
        return HIDDEN
    match value:
        case str():
            return _clean_text(value, LONGEST_TRACEBACK if key == "exception" else LONGEST_TEXT)
        case None | bool() | int() | float():
            return value
        case datetime():
            return rfc3339(value)
        case Mapping() if depth < DEEPEST:
            return {str(k): _clean(str(k), v, depth + 1) for k, v in value.items()}
        case (str() as name, str() as field) if _is_secret(name) and field:
            return [name, HIDDEN]  # a header field
        case list() | tuple() | set() | frozenset() if depth < DEEPEST:
            return [_clean("", item, depth + 1) for item in value]
        case _:
            return _clean_text(str(value), LONGEST_TEXT)


@lru_cache(maxsize=1024)
def _is_secret(key: str) -> bool:
    return _SECRET_KEY.search(key) is not None


def _clean_text(text: str, longest: int) -> str:
    if len(text) > longest:
        text = f"{text[:longest]}… ({len(text)} characters)"
    if "://" in text and ("=" in text or "@" in text):
        text = _URL.sub(lambda url: redacted(url[0]), text)
    lowered = text.lower() if " " in text else ""
    if "bearer " in lowered or "basic " in lowered:
        text = _CREDENTIALS.sub(rf"\1 {HIDDEN}", text)
    if "hw_" in text or "hwr_" in text:
        text = _OUR_TOKENS.sub(HIDDEN, text)
    return text


def _json(logger: NamedLogger, method: str, facts: LogFacts) -> str:
    if "exc_info" in facts:
        facts = _with_traceback(logger, method, facts)
    head = _head(logger, method, facts.pop("event"))
    return _json_line(head, _with_trace_ids(logger, method, facts))


def _head(logger: NamedLogger, method: str, event: str) -> dict[str, Any]:
    """The order that people look for: when, how bad, who, what. The facts follow in their order."""
    return {
        "timestamp": rfc3339_at(time_ns() // 1_000),
        "level": method,
        "logger": logger.name,
        "event": event,
    }


def _json_line(head: dict[str, Any], facts: LogFacts) -> str:
    return _json_if_clean(head, facts) or _cleaned_json(head, facts)


def _json_if_clean(head: Mapping[str, Any], facts: LogFacts) -> str | None:
    """The line as it is when nothing in it needs cleaning, as in most lines; else None."""
    if not _PLAIN_TYPES.issuperset(map(type, facts.values())) or not _are_ordinary(tuple(facts)):
        return None
    try:
        line = orjson.dumps({**head, **facts})
    except TypeError:
        return None
    text = line.decode()
    if len(text) > LONGEST_TEXT or "=" in text or "@" in text or "hw" in text:
        return None  # a URL with a secret, a token of ours
    lowered = line.lower()  # of bytes: a str with letters beyond ASCII takes eight times as long
    if b"bearer " in lowered or b"basic " in lowered:
        return None
    before, _, after = text.partition("×")  # the reason of nearly every visit has this letter
    if not before.isascii() or not after.isascii() or "\x7f" in text:
        return None  # a letter that might move a cursor or reverse the text
    return text


@lru_cache(maxsize=1024)
def _are_ordinary(names: tuple[str, ...]) -> bool:
    return _HEAD.isdisjoint(names) and not any(map(_is_secret, names))


def _cleaned_json(head: dict[str, Any], facts: LogFacts) -> str:
    record = {**head, "event": _clean("event", head["event"], 0)}
    for key, value in facts.items():
        if key not in record:
            record[key] = value if type(value) in _HARMLESS_TYPES else _clean(key, value, 0)
    try:
        text = orjson.dumps(record).decode()
    except TypeError:
        # Half a character (a lone surrogate) or a number beyond 64 bits.
        return dumps(record, ensure_ascii=True)
    # No character that must not stand in a line is printable.
    return text if text.isprintable() else _escape_controls(text)


def _escape_facts(_: Any, __: str, facts: LogFacts) -> LogFacts:
    """Escape every character that a terminal would obey."""
    for key, value in facts.items():
        if key == "exception":
            lines = str(value).split("\n")
            facts[key] = "\n".join(f"    {_escape_controls(line)}" for line in lines)
        elif not isinstance(value, int | float | None):
            facts[key] = _escape_controls(value if isinstance(value, str) else str(value))
    return facts


def _escape_controls(text: str) -> str:
    return _CONTROL.sub(lambda control: f"\\u{ord(control[0]):04x}", text)


class _StandardHandler(logging.Handler):
    """Writes the lines of libraries that use Python's own logging in our form."""

    def emit(self, record: logging.LogRecord) -> None:
        try:
            text = record.getMessage()
        except (TypeError, ValueError):
            text = str(record.msg)  # the arguments do not fit the format of the library
        level = min(max(record.levelno // 10 * 10, logging.DEBUG), logging.CRITICAL)
        get_logger(record.name).log(level, text, exc_info=record.exc_info)


def _take_over_standard_logging(least: int) -> None:
    """Take warnings and worse: the information of libraries is noise, unless somebody debugs."""
    root = logging.getLogger()
    root.handlers[:] = [_StandardHandler()]
    root.setLevel(logging.INFO if least <= logging.DEBUG else max(least, logging.WARNING))
