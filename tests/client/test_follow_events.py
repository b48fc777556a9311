"""A reader's own conscience: each number once, none left out, the cursor never too far."""

import time
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.client.cursor import EventProgress
from headwater.client.errors import Garbled, LogReset, Refusal, Unreachable
from headwater.client.events import Event
from headwater.client.follow_events import After, EventFollower, StreamFilter
from headwater.client.service_address import Patience, ServiceAddress
from headwater.client.sse_frames import Frame
from headwater.core.errors import BadInput


class Kept:
    """A cursor in memory."""

    def __init__(self, number: int | None = None) -> None:
        self.number, self.saves = number, list[int]()

    def load(self) -> int | None:
        return self.number

    def save(self, seq: int) -> None:
        self.number = seq
        self.saves.append(seq)


def following(
    after: After = 0,
    wanted: StreamFilter | None = None,
    *,
    cursor: Kept | None = None,
    by_hand: bool = False,
    **patience: Any,
) -> EventFollower:
    progress = EventProgress(cursor, time.monotonic, 0.0)
    return EventFollower(
        wanted or StreamFilter(), after, progress, Patience(**patience), by_hand=by_hand
    )


def frame(seq: int, /, **said: Any) -> Frame:
    body = {
        "seq": seq,
        "id": f"id-{seq}",
        "type": "new_entry",
        "at": "2026-01-05T12:00:00Z",
        "feed_id": None,
        "payload": {},
    }
    return Frame(b"%d" % seq, b"new_entry", orjson.dumps(body | said))


def seqs(reader: EventFollower, *frames: Frame) -> list[int]:
    return [event.seq for event in reader.read_events(frames)]


@given(st.lists(st.integers(1, 30), max_size=60))
def test_every_number_comes_once_and_in_order(numbers: list[int]) -> None:
    """Whatever order a server sends them in, and however often we have to come back."""
    reader, got = following(), list[int]()
    for number in [*numbers, *range(1, 31)]:
        try:
            got += seqs(reader, frame(number))
        except Garbled:
            assert number > reader.position + 1  # type: ignore[operator]
    assert got == list(range(1, 31))


def test_what_came_before_the_trouble_is_handed_out() -> None:
    reader, got = following(), list[Event]()
    with pytest.raises(Garbled, match="jumps from 2 to 4"):
        got += reader.read_events([frame(1), frame(2), frame(4)])
    assert reader.position == 2
    told = following().read_events([frame(1), frame(2), frame(4)])
    assert [next(told).seq, next(told).seq] == [1, 2]


def test_a_filter_leaves_numbers_out_and_pings_move_on() -> None:
    cursor = Kept()
    reader = following(0, StreamFilter(types=("new_entry",)), cursor=cursor)
    assert seqs(reader, frame(3), frame(9), Frame(b"40", b"", None)) == [3, 9]
    assert (reader.position, cursor.number) == (40, 40)
    assert b"last-event-id: 40\r\n" in reader.request(ServiceAddress.of("http://a.example", None))


def test_a_ping_that_is_elsewhere_is_a_gap() -> None:
    reader = following(5)
    assert seqs(reader, Frame(b"5", b"", None), frame(6), Frame(b"6", b"", None)) == [6]
    with pytest.raises(Garbled):
        seqs(reader, Frame(b"8", b"", None))
    with pytest.raises(Garbled):
        seqs(following(5, StreamFilter(types=("x",))), Frame(b"4", b"", None))


def test_from_now_on_is_a_number_too() -> None:
    """Otherwise what comes while the connection is broken would be lost."""
    reader = following(None)
    assert b"last-event-id" not in reader.request(ServiceAddress.of("http://a.example", None))
    assert seqs(reader, Frame(b"17", b"", None, 3_000)) == []
    assert b"last-event-id: 17\r\n" in reader.request(ServiceAddress.of("http://a.example", None))


def test_a_log_that_was_set_back_is_said() -> None:
    with pytest.raises(LogReset) as reset:
        seqs(following(90), Frame(b"7", b"log_reset", b'{"last_seq":7}'))
    assert reset.value.last_seq == 7


def test_an_event_that_nobody_can_read_is_passed_over(caplog: pytest.LogCaptureFixture) -> None:
    cursor = Kept()
    reader = following(cursor=cursor)
    broken = Frame(b"2", b"unreadable", b'{"seq":2,"error":"bad_payload"}')
    assert seqs(reader, frame(1), broken, frame(3)) == [1, 3]
    assert "event 2 cannot be read" in caplog.text
    assert cursor.number == 3


GARBAGE = {
    "an id that is none": Frame(b"one", b"new_entry", b"{}"),
    "a negative id": Frame(b"-1", b"new_entry", b"{}"),
    "an id beyond all": Frame(b"9" * 40, b"new_entry", b"{}"),
    "an event without an id": Frame(None, b"new_entry", b"{}"),
    "an empty id": Frame(b"", b"new_entry", b"{}"),
    "another number inside": frame(1, seq=2),
    "text as a number": frame(1, seq="1"),
    "true as a number": frame(1, seq=True),
    "no payload": frame(1, payload=None),
    "a list as payload": frame(1, payload=[]),
    "a moment that is none": frame(1, at="yesterday"),
    "no JSON": Frame(b"1", b"new_entry", b"{"),
    "no object": Frame(b"1", b"new_entry", b"[]"),
    "a reset to nowhere": Frame(b"1", b"log_reset", b"{}"),
}


@pytest.mark.parametrize("case", GARBAGE)
def test_garbage_moves_nothing(case: str) -> None:
    reader = following()
    with pytest.raises(Garbled):
        seqs(reader, GARBAGE[case])
    assert reader.position == 0


def test_an_event_is_done_when_the_next_one_is_asked_for() -> None:
    cursor = Kept()
    reader = following(cursor=cursor)
    told = reader.read_events([frame(1), frame(2), frame(3)])
    next(told)
    next(told)
    assert cursor.number == 1, "saved while the second is being dealt with"
    told.close()  # type: ignore[attr-defined]
    reader.progress.save(now=True)
    assert cursor.number == 1


def test_done_by_hand_the_cursor_waits_for_the_first_that_is_not() -> None:
    cursor = Kept()
    reader = following(cursor=cursor, by_hand=True)
    one, two, three, four = reader.read_events([frame(1), frame(2), frame(3), frame(4)])
    reader.progress.save(now=True)
    assert cursor.number == 0
    three.done()
    two.done()
    reader.progress.save(now=True)
    assert cursor.number == 0
    one.done()
    one.done()
    reader.progress.save(now=True)
    assert cursor.number == 3
    four.done()
    reader.progress.save(now=True)
    assert cursor.number == 4


def test_a_cursor_that_holds_a_number_goes_on_there() -> None:
    assert following("beginning", cursor=Kept(12)).position == 12
    assert following("beginning", cursor=Kept()).position == 0
    assert following(None, cursor=Kept()).position is None


@pytest.mark.parametrize("after", [-1, 10**18, True, 1.5, "end"])
def test_an_after_that_is_none_is_refused(after: Any) -> None:
    with pytest.raises(BadInput):
        following(after)


def test_rests_double_up_to_a_limit_and_begin_anew_with_progress() -> None:
    reader = following(longest_rest=20.0)
    rests = [reader.rest_after(Unreachable("x")) for _ in range(5)]
    for rest, most in zip(rests, (3, 6, 12, 20, 20), strict=True):
        assert most / 2 <= rest <= most
    seqs(reader, frame(1))
    assert reader.rest_after(Unreachable("x")) <= 3
    assert reader.rest_after(None) <= 3
    seqs(reader, Frame(b"1", b"", None, 0))
    assert 0.05 <= reader.rest_after(None) <= 0.1


def test_on_a_quiet_log_rests_begin_anew_with_a_connection_that_worked() -> None:
    """A proxy that closes each stream after a minute is no reason to come back ever later."""
    reader, place = following(5, longest_rest=20.0), ServiceAddress.of("http://a.example", None)
    greeting, ping = Frame(b"5", b"", None, 3_000), Frame(b"5", b"", None)
    rest = 0.0
    for _ in range(5):
        reader.request(place)
        seqs(reader, greeting)
        rest = reader.rest_after(Unreachable("x"))
    assert rest >= 10, "a greeting alone is not much"
    for _ in range(5):
        reader.request(place)
        seqs(reader, greeting, ping)
        assert reader.rest_after(Unreachable("x")) <= 3


def test_a_rest_that_was_asked_for_is_kept() -> None:
    busy = Refusal({"status_code": 429, "retry_after_sec": 120})
    assert following().rest_after(busy) == 120
    assert Refusal({"status_code": 429, "retry_after_sec": 10**9}).retry_after == 3_600
    assert Refusal({"status_code": 429, "retry_after_sec": "soon"}).retry_after == 0
