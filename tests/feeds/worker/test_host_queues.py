"""The waiting room: hosts' turns are kept, nobody is forgotten, nobody blocks the others."""

from headwater.core.values.ids import FeedId, FeedPk
from headwater.core.values.response import Validators
from headwater.feeds.fetch.host_turns import HostPacing, PacingPolicy
from headwater.feeds.schedule.due import DueFeed
from headwater.feeds.schedule.state import ScheduleState
from headwater.feeds.worker.host_queues import HostQueues


def due(number: int, host: str) -> DueFeed:
    return DueFeed(
        feed=FeedPk(number),
        feed_id=FeedId(str(number)),
        url=f"https://{host}/{number}",
        host=host,
        scheduled_at=0,
        fence=1,
        validators=Validators(),
        state=ScheduleState(interval=900),
    )


def room(*, at_once: int = 2, per_second: float = 1.0) -> tuple[HostQueues, HostPacing]:
    turns = HostPacing(PacingPolicy(max_concurrency=at_once, requests_per_second=per_second))
    return HostQueues(turns), turns


def numbers(starting: list[DueFeed]) -> list[int]:
    return [each.feed for each in starting]


def test_different_hosts_start_side_by_side() -> None:
    waiting, _ = room()
    for number in range(3):
        waiting.add(due(number, f"host{number}"), 0.0)
    assert sorted(numbers(waiting.ready(0.0, 10))) == [0, 1, 2]
    assert len(waiting) == 0


def test_no_more_start_than_there_are_places() -> None:
    waiting, _ = room()
    for number in range(3):
        waiting.add(due(number, f"host{number}"), 0.0)
    assert len(waiting.ready(0.0, 2)) == 2
    assert len(waiting.ready(0.0, 2)) == 1


def test_one_host_is_asked_once_a_second_in_order() -> None:
    waiting, _ = room(at_once=10)
    for number in range(3):
        waiting.add(due(number, "host"), 0.0)
    assert numbers(waiting.ready(0.0, 10)) == [0]
    assert waiting.next_moment() == 1.0
    assert numbers(waiting.ready(0.5, 10)) == []
    assert numbers(waiting.ready(1.0, 10)) == [1]
    assert numbers(waiting.ready(2.0, 10)) == [2]
    assert waiting.next_moment() is None


def test_a_full_host_waits_for_a_finish_not_for_a_moment() -> None:
    waiting, turns = room(at_once=1)
    waiting.add(due(1, "host"), 0.0)
    waiting.add(due(2, "host"), 0.0)
    assert numbers(waiting.ready(0.0, 10)) == [1]
    assert numbers(waiting.ready(5.0, 10)) == []
    turns.finish("host", 6.0, None)
    waiting.finished("host", 6.0)
    assert numbers(waiting.ready(6.0, 10)) == [2]


def test_a_resting_host_does_not_hold_up_another() -> None:
    waiting, turns = room()
    turns.rest("tired", 50.0)
    waiting.add(due(1, "tired"), 0.0)
    waiting.add(due(2, "fresh"), 0.0)
    assert numbers(waiting.ready(0.0, 10)) == [2]
    assert waiting.next_moment() == 50.0
    assert numbers(waiting.ready(50.0, 10)) == [1]


def test_nobody_waits_for_a_host_that_rests_for_long() -> None:
    waiting, turns = room()
    turns.rest("tired", 3_600.0)
    waiting.add(due(1, "tired"), 0.0)
    waiting.add(due(2, "tired"), 0.0)
    assert waiting.ready(0.0, 10) == []
    assert [(each.feed, wait) for each, wait in waiting.turned_away()] == [
        (1, 3_600.0),
        (2, 3_600.0),
    ]
    assert (len(waiting), waiting.next_moment(), waiting.turned_away()) == (0, None, [])


def test_a_place_freed_by_somebody_else_is_found_by_looking_again() -> None:
    waiting, turns = room(at_once=1)
    turns.start("host", 0.0)
    waiting.add(due(1, "host"), 2.0)
    assert waiting.ready(2.0, 10) == []
    turns.finish("host", 2.1, None)
    assert waiting.next_moment() == 2.25
    assert numbers(waiting.ready(2.25, 10)) == [1]


def test_when_the_worker_stops_everybody_leaves() -> None:
    waiting, _ = room()
    waiting.add(due(1, "a"), 0.0)
    waiting.add(due(2, "a"), 0.0)
    assert waiting.at("a") == 2
    assert numbers(waiting.waiting()) == [1, 2]
    assert numbers(waiting.empty()) == [1, 2]
    assert (len(waiting), waiting.next_moment()) == (0, None)
