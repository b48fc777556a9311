"""Downloads whose next step was planned while the clock was ahead."""

from tests.support.download_world import Yard
from tests.support.origin import Reply
from tests.support.torrents import made

DAY = 86_400.0
FIRST = made("[Good] Show - 01.mkv", bytes(range(256)) * 200)


async def test_a_step_that_was_planned_by_a_clock_ahead_is_taken_by_one_that_is_right(
    yard: Yard,
) -> None:
    """A pause is an hour at most."""
    download = await yard.offer("[Good] Show - 01", FIRST)
    yard.clock.step(30 * DAY)
    await yard.turn(2)
    assert (await yard.now(download)).state == "added"
    yard.clock.step(-30 * DAY)
    yard.client.deliver(FIRST)
    await yard.turn(6)
    assert (await yard.now(download)).state == "done"


async def test_a_rest_that_a_site_asked_for_is_kept_to_by_a_clock_that_is_right(
    yard: Yard,
) -> None:
    download = await yard.offer("[Good] Show - 01", FIRST)
    torrent = yard.sites[0].stand_in
    yard.sites[0].stand_in = Reply(429, headers={"Retry-After": f"{DAY:.0f}"})
    await yard.turn()
    yard.sites[0].stand_in = torrent
    await yard.clock.advance(DAY - 60)
    await yard.turn(2)
    assert (await yard.now(download)).error == "throttled"
    await yard.clock.advance(60)
    await yard.turn(2)
    assert (await yard.now(download)).state == "added"
