"""What is told of releases has a line that people can be shown as it is."""

from tests.support.download_world import Yard
from tests.support.origin import Reply
from tests.support.torrents import made

BODY = bytes(range(256)) * 200
POOR = made("[Poor] Show - 01.mkv", BODY)
GOOD = made("[Good] Show - 01.mkv", BODY[::-1])


async def test_a_release_on_its_way_is_told_in_words(yard: Yard) -> None:
    await yard.collect("[Poor] Show - 01", POOR)
    await yard.collect("[Good] Show - 01", GOOD)
    assert [told["text"] for _, told in await yard.told()] == [
        "Show S01E01: [Poor] Show - 01 is wanted. Nothing is held for S01E01.",
        "Show S01E01: [Poor] Show - 01 is in the library.",
        "Show S01E01: [Good] Show - 01 is wanted."
        " It is better: group Good (in place 2) beside Poor (not in the list).",
        "Show S01E01: [Good] Show - 01 is in the library, in place of [Poor] Show - 01.",
    ]


async def test_what_fails_is_told_with_the_reason_and_all_its_episodes(yard: Yard) -> None:
    await yard.offer("[Good] Show [01-12]", GOOD)
    yard.sites[0].stand_in = Reply(200, b"<html>log in</html>")
    await yard.turn(4)
    kind, told = (await yard.told())[-1]
    assert kind == "release_failed"
    assert told["text"] == (
        "Show S01E01 to S01E12: [Good] Show [01-12] could not be downloaded. " + told["detail"]
    )


async def test_what_waits_for_a_person_says_so(yard: Yard) -> None:
    await yard.offer_skipped("[Good] Show", GOOD)
    ((kind, told),) = await yard.told()
    assert (kind, told["text"]) == (
        "release_held",
        "Show: [Good] Show waits for a person. Its title names no episode.",
    )
