"""When lines are written: those of one moment together, in their order, and none is lost."""

import asyncio
import json
import threading
from collections.abc import Iterator
from io import StringIO

import pytest
import structlog

from headwater.core.telemetry.log import configure, get_logger


class Paper(StringIO):
    """Remembers what each call brought."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[list[str]] = []

    def write(self, text: str) -> int:
        self.calls.append([json.loads(line)["event"] for line in text.splitlines()])
        return len(text)

    @property
    def said(self) -> list[str]:
        return [event for call in self.calls for event in call]


@pytest.fixture
def paper() -> Iterator[Paper]:
    made = Paper()
    configure("debug", "json", made)
    yield made
    structlog.reset_defaults()


async def test_what_is_said_in_one_turn_of_the_loop_is_written_with_one_call(paper: Paper) -> None:
    get_logger("one").info("a")
    get_logger("two").debug("b")
    assert paper.calls == []
    await asyncio.sleep(0)
    get_logger("one").info("c")
    await asyncio.sleep(0)
    assert paper.calls == [["a", "b"], ["c"]]


async def test_a_warning_is_written_at_once_behind_what_was_said_before_it(paper: Paper) -> None:
    log = get_logger("one")
    log.info("a")
    log.warning("b")
    assert paper.calls == [["a", "b"]]
    log.info("c")
    log.error("d")
    assert paper.said == ["a", "b", "c", "d"]
    await asyncio.sleep(0)
    assert paper.said == ["a", "b", "c", "d"]


def test_without_a_loop_every_line_is_written_at_once(paper: Paper) -> None:
    get_logger("one").info("a")
    get_logger("one").info("b")
    assert paper.calls == [["a"], ["b"]]


def test_the_last_words_before_a_loop_ends_are_written(paper: Paper) -> None:
    async def last_words(event: str) -> None:
        get_logger("one").info(event)

    asyncio.run(last_words("a"))
    assert paper.said == ["a"]
    asyncio.run(last_words("b"))
    assert paper.said == ["a", "b"]


def test_what_a_loop_promised_and_did_not_keep_is_written_with_the_next_line(paper: Paper) -> None:
    dead = asyncio.new_event_loop()
    dead.call_soon(dead.stop)
    dead.call_soon(get_logger("one").info, "a")
    dead.run_forever()  # stops after this turn, before the next one that would write
    dead.close()
    assert paper.said == []

    async def later() -> None:
        get_logger("one").info("b")

    asyncio.run(later())
    assert paper.said == ["a", "b"]


async def test_threads_lose_and_tear_nothing(paper: Paper) -> None:
    def say(name: str) -> None:
        for number in range(300):
            get_logger(name).info(f"{name}{number}")

    threads = [threading.Thread(target=say, args=(name,)) for name in "abc"]
    for thread in threads:
        thread.start()
    for number in range(300):
        get_logger("d").info(f"d{number}")
        await asyncio.sleep(0)
    for thread in threads:
        await asyncio.to_thread(thread.join)
    await asyncio.sleep(0)
    for name in "abcd":
        mine = [event for event in paper.said if event.startswith(name)]
        assert sorted(mine) == sorted(f"{name}{number}" for number in range(300))
