"""Lines that programs can trust and people can read."""

import json
import logging
from collections.abc import Callable
from datetime import UTC, datetime
from io import StringIO
from time import process_time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.core.telemetry.log import LogFormat, LogLevel, configure, get_logger


class Terminal(StringIO):
    def isatty(self) -> bool:
        return True


class BrokenPipe(StringIO):
    def write(self, _: str) -> int:
        raise BrokenPipeError("nobody reads")


def written(
    say: Callable[[Any], object],
    *,
    level: LogLevel = "info",
    format: LogFormat = "json",
    stream: StringIO | None = None,
) -> str:
    out = StringIO() if stream is None else stream
    configure(level, format, out)
    say(get_logger("headwater.test"))
    return out.getvalue()


def record(say: Callable[[Any], object]) -> dict[str, Any]:
    line = written(say)
    assert line.count("\n") == 1
    found: dict[str, Any] = json.loads(line)
    return found


def test_a_visit_is_one_json_line_with_its_facts_in_the_order_given() -> None:
    line = record(
        lambda log: log.info("visit", feed="f1", status=304, new_entries=0, truncated=None)
    )
    moment = datetime.fromisoformat(line.pop("timestamp"))
    assert moment.tzinfo == UTC
    assert list(line.items()) == [
        ("level", "info"),
        ("logger", "headwater.test"),
        ("event", "visit"),
        ("feed", "f1"),
        ("status", 304),
        ("new_entries", 0),
        ("truncated", None),
    ]


def test_what_is_below_the_level_is_not_written() -> None:
    assert written(lambda log: log.info("visit"), level="warning") == ""


@pytest.mark.parametrize(
    ("format", "is_terminal", "is_json"),
    [("auto", False, True), ("auto", True, False), ("json", True, True), ("text", False, False)],
)
def test_programs_get_json_and_terminals_get_text(
    format: LogFormat, is_terminal: bool, is_json: bool
) -> None:
    stream = Terminal() if is_terminal else StringIO()
    line = written(lambda log: log.info("visit", feed="f1"), format=format, stream=stream)
    assert line.startswith("{") == is_json
    assert ("\x1b[" in line) == (is_terminal and not is_json)


def test_a_title_with_line_breaks_cannot_forge_a_second_record() -> None:
    title = 'News\r\n{"level": "error", "event": "forged"}'
    assert record(lambda log: log.info("visit", title=title))["title"] == title


@pytest.mark.parametrize(
    ("hostile", "shown"),
    [
        ("a\u2028b", "a\\u2028b"),
        ("a\x9b31mb", "a\\u009b31mb"),
        ("a\x7fb", "a\\u007fb"),
        ("a\u202egnp.exe", "a\\u202egnp.exe"),
        ("a\x1b[2Jb", "a\\u001b[2Jb"),
    ],
)
@pytest.mark.parametrize("format", ["json", "text"])
def test_nothing_a_terminal_would_obey_is_written(
    hostile: str, shown: str, format: LogFormat
) -> None:
    line = written(lambda log: log.info("visit", title=hostile), format=format)
    assert shown in line
    assert line.count("\n") == 1


@given(st.text())
def test_any_text_is_one_record_and_comes_back_whole(title: str) -> None:
    assert record(lambda log: log.info("visit", facts=[title]))["facts"] == [title]


def test_half_a_character_and_huge_numbers_do_not_stop_a_line() -> None:
    line = record(lambda log: log.info("visit", title="\ud800", length=2**70))
    assert (line["title"], line["length"]) == ("\ud800", 2**70)


@pytest.mark.parametrize(
    "facts",
    [
        {"token": "s3cret"},
        {"admin_token": "s3cret"},
        {"Authorization": "Bearer s3cret"},
        {"password": "s3cret"},
        {"Set-Cookie": "id=s3cret"},
        {"api_key": "s3cret"},
        {"credentials": "s3cret"},
        {"passphrase": "s3cret"},
        {"private_key": "s3cret"},
        {"detail": "asked with hw_s3cret-0123456789_abcdef"},
        {"detail": "asked with hwr_s3cret-0123456789_abcdef"},
        {"headers": {"Proxy-Authorization": "s3cret"}},
        {"headers": [("Accept", "*/*"), ("Cookie", "s3cret")]},
        {"request": {"headers": (("X-Api-Key", "s3cret"),)}},
        {"url": "https://example.org/feed?token=s3cret&page=2"},
        {"detail": "asked https://user:s3cret@example.org/feed twice"},
        {"database": "postgresql://headwater:s3cret@db/headwater"},
        {"detail": "sent Authorization: Bearer s3cret to it"},
        {"error": ValueError("https://example.org/?api_key=s3cret")},
    ],
)
@pytest.mark.parametrize("format", ["json", "text"])
def test_no_secret_reaches_a_line(facts: dict[str, Any], format: LogFormat) -> None:
    line = written(lambda log: log.info("visit", **facts), format=format)
    assert "s3cret" not in line
    assert "visit" in line


def test_a_url_without_secrets_is_kept_as_it_is() -> None:
    url = "https://example.org/feed?page=2"
    assert record(lambda log: log.info("visit", url=url))["url"] == url


def test_secrets_in_the_text_of_an_exception_are_hidden_too() -> None:
    def fail(log: Any) -> None:
        try:
            raise OSError("cannot reach https://example.org/feed?token=s3cret")
        except OSError:
            log.exception("visit failed")

    line = record(fail)
    assert "OSError: cannot reach https://example.org/feed?token=REDACTED" in line["exception"]
    assert "s3cret" not in line["exception"].splitlines()[-1]


def test_lines_of_a_forged_exception_are_indented_for_people() -> None:
    def fail(log: Any) -> None:
        try:
            raise OSError("x\n2026-01-01 [info] forged\x1b[2J")
        except OSError:
            log.exception("visit failed")

    lines = written(fail, format="text").splitlines()
    assert lines[-1] == "    2026-01-01 [info] forged\\u001b[2J"


def test_a_very_long_text_is_cut_and_says_so() -> None:
    title = record(lambda log: log.info("visit", title="x" * 1_000_000))["title"]
    assert title == "x" * 2_000 + "… (1000000 characters)"


def test_nested_facts_end_at_a_depth() -> None:
    endless: dict[str, Any] = {}
    endless["inside"] = endless
    assert len(written(lambda log: log.info("visit", facts=endless))) < 4_000
    rows: list[Any] = []
    rows.append(rows)
    assert len(written(lambda log: log.info("visit", facts=rows))) < 4_000


def test_moments_are_written_as_everywhere_else() -> None:
    moment = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    assert record(lambda log: log.info("visit", next=moment))["next"] == "2026-01-02T03:04:05Z"


def test_a_reader_that_went_away_does_not_stop_the_work() -> None:
    stream = BrokenPipe()
    configure("info", "json", stream)
    get_logger("headwater.test").info("visit")
    assert stream.getvalue() == ""


def test_libraries_are_heard_in_the_same_form() -> None:
    def speak(_: Any) -> None:
        logging.getLogger("uvicorn").info("Started server process")
        logging.getLogger("uvicorn").warning("Invalid HTTP request: %s", "a\nb")

    line = record(speak)
    assert (line["logger"], line["level"]) == ("uvicorn", "warning")
    assert line["event"] == "Invalid HTTP request: a\nb"


def test_a_library_whose_arguments_do_not_fit_is_still_heard() -> None:
    line = record(lambda _: logging.getLogger("odd").error("%d items", "many"))
    assert line["event"] == "%d items"


def test_a_line_costs_little() -> None:
    """20 µs is the aim; the bound leaves room for a busy machine and still catches a slow chain."""
    configure("info", "json", StringIO())
    log = get_logger("headwater.test")

    def one_batch() -> float:
        began = process_time()
        for _ in range(500):
            log.info("visit", feed="f1", url="https://example.org/feed", status=304, reason="same")
        return (process_time() - began) / 500

    assert min(one_batch() for _ in range(5)) < 100e-6
