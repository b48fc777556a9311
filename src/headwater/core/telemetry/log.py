"""One structured line per fact: JSON for programs, colour for people, no secret in either."""

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

# Whatever could end a line, move a cursor or turn the writing round (attacks on who reads logs).
_CONTROL = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)


_HARMLESS = frozenset((int, float, bool, type(None)))
_PLAIN = _HARMLESS | {str}
_HEAD = frozenset(("timestamp", "level", "logger", "event"))
_with_traceback = structlog.processors.format_exc_info


def configure(
    level: LogLevel = "info", format: LogFormat = "auto", stream: TextIO | None = None
) -> None:
    """Called once, by an entrypoint, before the first line is written."""
    out = sys.stderr if stream is None else stream
    pen = LineWriter(out)
    atexit.register(pen.flush)
    as_text = format == "text" or (format == "auto" and out.isatty())
    least = logging.getLevelNamesMapping()[level.upper()]
    leveled = structlog.make_filtering_bound_logger(least)
    structlog.configure(
        processors=_console_processors(out.isatty()) if as_text else _json_processors(),
        wrapper_class=leveled if as_text or least > logging.INFO else _straight(leveled),
        logger_factory=lambda name="": NamedLogger(pen, name),
        cache_logger_on_first_use=True,
    )
    _take_over_standard_logging(least)


def get_logger(name: str) -> FilteringBoundLogger:
    """May be called at import: the settings are looked up when the first line is written."""
    return cast(FilteringBoundLogger, structlog.get_logger(name))


def _straight(leveled: type[FilteringBoundLogger]) -> type[FilteringBoundLogger]:
    """The same logger with a shorter way for what every visit says, when programs read it."""

    def info(self: Any, event: str, *args: Any, **facts: Any) -> Any:
        if args or self._context or "exc_info" in facts:
            return leveled.info(self, event, *args, **facts)
        line: NamedLogger = self._logger
        return line.soon(_line(_record(line, "info", event), _traced(line, "info", facts)))

    return type("Straight", (leveled,), {"info": info})


class LineWriter:
    """Writes lines whole, in their order, so that those of several threads do not mix.

    What is said while a loop runs waits for the end of its turn: hundreds of visits may end in one,
    and each of their lines would be a call to the system.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._waiting: deque[str] = deque()
        self._promised_by: asyncio.AbstractEventLoop | None = None

    def write(self, text: str) -> None:
        self._waiting.append(text)
        self.flush()

    def write_soon(self, text: str) -> None:
        self._waiting.append(text)
        loop = asyncio._get_running_loop()
        if loop is None:
            self.flush()
        elif loop is not self._promised_by:  # one that ended before it could is not this one
            self._promised_by = loop
            loop.call_soon(self._keep_promise)

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

    def _keep_promise(self) -> None:
        self._promised_by = None
        self.flush()


class NamedLogger:
    """Where one logger's lines go. Warnings and worse are written at once: what comes after them
    may be the end."""

    __slots__ = ("_pen", "name")

    def __init__(self, pen: LineWriter, name: str) -> None:
        self._pen = pen
        self.name = name

    def soon(self, text: str) -> None:
        self._pen.write_soon(text)

    def at_once(self, text: str) -> None:
        self._pen.write(text)

    debug = info = soon
    warning = error = critical = exception = log = msg = at_once


def _json_processors() -> list[Processor]:
    return [_json]


def _console_processors(coloured: bool) -> list[Processor]:
    screen = ConsoleRenderer(
        colors=coloured, pad_event_to=24, sort_keys=False, exception_formatter=plain_traceback
    )
    return [_named, _traced, _with_traceback, _cleaned, _escape_facts, screen]


def _named(line: NamedLogger, method: str, facts: LogFacts) -> LogFacts:
    facts["logger"] = line.name
    facts["level"] = method
    facts["timestamp"] = rfc3339(datetime.now(UTC))
    return facts


def _traced(_: Any, __: str, facts: LogFacts) -> LogFacts:
    """Which visit this was said in, where visits leave a trail."""
    found = trace.current_trace_ids()
    if found is not None:
        facts["trace_id"], facts["span_id"] = found
    return facts


def clean_value(name: str, value: Any) -> Any:
    """A fact as it may leave this process: bounded, without secrets."""
    return _clean(name, value, 0)


def _cleaned(_: Any, __: str, facts: LogFacts) -> LogFacts:
    """Only plain values are left, bounded and without secrets."""
    for key, value in facts.items():
        if type(value) not in _HARMLESS:
            facts[key] = _clean(key, value, 0)
    return facts


def _clean(key: str, value: Any, depth: int) -> Any:
    if _is_secret(key) and value is not None:
        return HIDDEN
    match value:
        case str():
            return _text(value, LONGEST_TRACEBACK if key == "exception" else LONGEST_TEXT)
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
            return _text(str(value), LONGEST_TEXT)


@lru_cache(maxsize=1024)
def _is_secret(key: str) -> bool:
    return _SECRET_KEY.search(key) is not None


def _text(text: str, longest: int) -> str:
    if len(text) > longest:
        text = f"{text[:longest]}… ({len(text)} characters)"
    if "://" in text and ("=" in text or "@" in text):
        text = _URL.sub(lambda url: redacted(url[0]), text)
    if " " in text and _may_name_a_scheme(text.lower()):
        text = _CREDENTIALS.sub(rf"\1 {HIDDEN}", text)
    if "hw_" in text or "hwr_" in text:
        text = _OUR_TOKENS.sub(HIDDEN, text)
    return text


def _may_name_a_scheme(lowered: str) -> bool:
    return "bearer " in lowered or "basic " in lowered


def _json(line: NamedLogger, method: str, facts: LogFacts) -> str:
    """All steps in one, as every visit writes a line.

    The order people look for: when, how bad, who, what; then the facts as they were given.
    """
    if "exc_info" in facts:
        facts = _with_traceback(line, method, facts)
    return _line(_record(line, method, facts.pop("event")), _traced(line, method, facts))


def _record(line: NamedLogger, method: str, event: str) -> dict[str, Any]:
    return {
        "timestamp": rfc3339_at(time_ns() // 1_000),
        "level": method,
        "logger": line.name,
        "event": event,
    }


def _line(record: dict[str, Any], facts: LogFacts) -> str:
    return _if_harmless(record, facts) or _cleaned_json(record, facts)


def _if_harmless(record: Mapping[str, Any], facts: LogFacts) -> str | None:
    """The line as it is: mostly there is nothing in it that has to be looked at fact by fact."""
    if not _PLAIN.issuperset(map(type, facts.values())) or not _are_ordinary(tuple(facts)):
        return None
    try:
        line = orjson.dumps({**record, **facts})
    except TypeError:
        return None
    text = line.decode()
    if len(text) > LONGEST_TEXT or "=" in text or "@" in text or "hw" in text:
        return None  # a URL with a secret, a token of ours
    lowered = line.lower()  # of bytes: that of letters beyond ASCII takes eight times as long
    if b"bearer " in lowered or b"basic " in lowered:
        return None
    before, _, after = text.partition("×")  # it stands in the reason of nearly every visit
    if not before.isascii() or not after.isascii() or "\x7f" in text:
        return None  # a letter that might move a cursor or turn the writing round
    return text


@lru_cache(maxsize=1024)
def _are_ordinary(names: tuple[str, ...]) -> bool:
    return _HEAD.isdisjoint(names) and not any(map(_is_secret, names))


def _cleaned_json(record: dict[str, Any], facts: LogFacts) -> str:
    record["event"] = _clean("event", record["event"], 0)
    for key, value in facts.items():
        if key not in record:
            record[key] = value if type(value) in _HARMLESS else _clean(key, value, 0)
    try:
        text = orjson.dumps(record).decode()
    except TypeError:
        # Half a character (a lone surrogate) or a number beyond 64 bits.
        return dumps(record, ensure_ascii=True)
    # Whatever must not stand in a line is no printable character.
    return text if text.isprintable() else _escape_controls(text)


def _escape_facts(_: Any, __: str, facts: LogFacts) -> LogFacts:
    """The same records with nothing in them that a terminal would obey."""
    for key, value in facts.items():
        if key == "exception":
            lines = str(value).split("\n")
            facts[key] = "\n".join(f"    {_escape_controls(line)}" for line in lines)
        elif not isinstance(value, int | float | None):
            facts[key] = _escape_controls(value if isinstance(value, str) else str(value))
    return facts


def _escape_controls(text: str) -> str:
    return _CONTROL.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


class _StandardHandler(logging.Handler):
    """Libraries that use Python's own logging are heard in the same form."""

    def emit(self, record: logging.LogRecord) -> None:
        try:
            text = record.getMessage()
        except (TypeError, ValueError):
            text = str(record.msg)  # the library's arguments do not fit its own format
        level = min(max(record.levelno // 10 * 10, logging.DEBUG), logging.CRITICAL)
        get_logger(record.name).log(level, text, exc_info=record.exc_info)


def _take_over_standard_logging(least: int) -> None:
    """Warnings and worse: what libraries call information is noise, unless debugging."""
    root = logging.getLogger()
    root.handlers[:] = [_StandardHandler()]
    root.setLevel(logging.INFO if least <= logging.DEBUG else max(least, logging.WARNING))
