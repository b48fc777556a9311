"""Who can handle a source: real fetcher processes are asked, fast, slow, lying and frozen ones."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path

import pytest

from headwater.adapters.database import SqlDatabase, open_database
from headwater.core.errors import BroadcastFailed, NoCapableFetcher
from headwater.core.values.ids import FetcherId
from headwater.core.values.signature import secret_of
from headwater.subscriptions.fetchers import fetcher_rows
from headwater.subscriptions.fetchers.ask_fetchers import broadcast_can_handle, choose_fetcher
from headwater.subscriptions.fetchers.builtin import BUILTINS, BuiltinFetcher
from headwater.subscriptions.fetchers.fetcher import FetcherPatch
from headwater.subscriptions.fetchers.fetcher_commands import add_builtin_fetchers
from headwater.subscriptions.fetchers.rank_candidates import BroadcastPolicy
from tests.support.clock import START, VirtualClock
from tests.support.fetcher_processes import NO, YES
from tests.support.fetcher_registry import Registry, a_registry
from tests.support.log_lines import Lines, heard

pytestmark = pytest.mark.parametrize("dialect", ["sqlite"], indirect=True)

MIKAN = "https://mikanani.me/RSS/Bangumi?bangumiId=3215"
NOWHERE = "http://127.0.0.1:9"
KEY = bytes(range(32))


@pytest.fixture
async def registry(
    database: SqlDatabase, virtual_clock: VirtualClock, tmp_path: Path
) -> AsyncIterator[Registry]:
    async with a_registry(database, virtual_clock, tmp_path) as registry:
        yield registry


@pytest.fixture
def log() -> Iterator[Lines]:
    with heard() as lines:
        yield lines


def levels(log: Lines, event: str) -> list[str]:
    return [line["log_level"] for line in log if line["event"] == event]


async def refused(asking: Awaitable[object]) -> NoCapableFetcher:
    with pytest.raises(NoCapableFetcher) as caught:
        await asking
    return caught.value


async def failed(asking: Awaitable[object]) -> BroadcastFailed:
    with pytest.raises(BroadcastFailed) as caught:
        await asking
    return caught.value


# Who wins


async def test_of_three_real_fetchers_the_highest_priority_that_can_is_chosen(
    registry: Registry, log: Lines
) -> None:
    fast, _ = await registry.fetcher(priority=10)
    slow, process = await registry.fetcher("--hold", priority=50)
    lying, _ = await registry.fetcher(priority=100, body='{"can_handle": "true"}')
    asking = asyncio.create_task(choose_fetcher(registry.engine.registry, MIKAN, "rss"))
    await process.says("heard")
    await process.may_answer()
    choice = await asking
    assert (choice.winner, choice.tied) == (slow, ())
    assert set(choice.asked) == {fast, slow, lying}
    assert [line["code"] for line in log if line["event"] == "fetcher_silent"] == ["bad_answer"]


async def test_those_who_can_come_back_with_our_priority_best_first(registry: Registry) -> None:
    low, _ = await registry.fetcher(priority=10)
    _no, _ = await registry.fetcher(priority=70, body=NO)
    top, process = await registry.fetcher(
        "--hold", priority=60, body='{"can_handle": true, "fetcher_id": 1, "priority": 9}'
    )
    asking = asyncio.create_task(
        broadcast_can_handle(registry.engine.registry, MIKAN, "rss", 60, None)
    )
    await process.says("heard")
    await process.may_answer()
    able = await asking
    assert able[0] == (top, 60)
    assert able[1:] in ([], [(low, 10)])


async def test_a_fetcher_cannot_raise_itself_by_its_answer(registry: Registry) -> None:
    lie = '{"can_handle": true, "fetcher_id": 1, "priority": 9223372036854775808}'
    await registry.fetcher(priority=10, body=lie)
    honest, _ = await registry.fetcher(priority=20)
    assert (await choose_fetcher(registry.engine.registry, MIKAN, "rss")).winner == honest


async def test_a_tie_at_the_top_goes_to_the_oldest_and_names_the_others(
    registry: Registry,
) -> None:
    first, _ = await registry.fetcher(priority=50)
    await registry.fetcher(priority=10)
    third, _ = await registry.fetcher(priority=50)
    choice = await choose_fetcher(registry.engine.registry, MIKAN, "rss")
    assert (choice.winner, choice.tied) == (first, (first, third))


async def test_a_named_fetcher_is_asked_alone(registry: Registry) -> None:
    named, _ = await registry.fetcher(priority=10)
    _, other = await registry.fetcher(priority=100)
    choice = await choose_fetcher(registry.engine.registry, MIKAN, "rss", target=named)
    assert (choice.winner, choice.asked) == (named, (named,))
    assert await other.ended() == [f"ready {other.port}"]


# Nobody waits for whom it does not concern


async def test_a_frozen_fetcher_delays_nobody_whose_answer_is_certain_without_it(
    registry: Registry,
) -> None:
    """What happened, in order: the choice is made before the frozen one hears the question."""
    happened: list[str] = []
    frozen, process = await registry.fetcher(priority=10)
    able, _ = await registry.fetcher(priority=50)
    process.freeze()
    choice = await choose_fetcher(registry.engine.registry, MIKAN, "rss")
    happened.append("chosen")
    process.thaw()
    happened.append("thawed")
    alone = asyncio.create_task(
        choose_fetcher(registry.engine.registry, MIKAN, "rss", target=frozen)
    )
    await process.says("heard")
    happened.append("heard")
    assert (await alone).winner == frozen
    assert choice.winner == able
    assert happened == ["chosen", "thawed", "heard"]
    assert registry.clock.now() == START


@pytest.mark.parametrize("priority", [50, 100])
async def test_a_frozen_fetcher_that_could_win_or_tie_is_waited_for(
    registry: Registry, priority: int
) -> None:
    frozen, process = await registry.fetcher(priority=priority)
    able, quick = await registry.fetcher(priority=50)
    process.freeze()
    asking = asyncio.create_task(choose_fetcher(registry.engine.registry, MIKAN, "rss"))
    await quick.says("answered")
    await registry.clock.advance(59)
    assert not asking.done()
    process.thaw()
    choice = await asking
    assert choice.winner == frozen
    assert choice.tied == ((frozen, able) if priority == 50 else ())


async def test_the_shared_limit_ends_the_waiting(registry: Registry, log: Lines) -> None:
    able, quick = await registry.fetcher(priority=50)
    late, process = await registry.fetcher("--hold", priority=100)
    asking = asyncio.create_task(choose_fetcher(registry.engine.registry, MIKAN, "rss", 60))
    await quick.says("answered")
    await process.says("heard")
    await registry.clock.advance(60)
    assert (await asking).winner == able
    (silent,) = [line for line in log if line["event"] == "fetcher_silent"]
    assert (silent["fetcher"], silent["code"], silent["log_level"]) == (late, "timeout", "warning")


async def test_each_fetcher_has_a_time_of_its_own(registry: Registry, log: Lines) -> None:
    """Nobody lets the shared minute pass: the one that is given up has a tenth of a second."""
    registry.engine.broadcast = BroadcastPolicy(timeout=60.0, answer_timeout=0.1)
    _, frozen = await registry.fetcher(priority=100)
    frozen.freeze()
    refusal = await refused(choose_fetcher(registry.engine.registry, MIKAN, "rss"))
    assert [each["code"] for each in refusal.facts["asked"]] == ["timeout"]
    assert levels(log, "fetcher_silent") == ["warning"]


async def test_no_more_than_so_many_are_asked_at_once_and_the_best_first(
    registry: Registry,
) -> None:
    registry.engine.broadcast = BroadcastPolicy(answer_timeout=3_600, at_once=1)
    best, first = await registry.fetcher("--hold", priority=100, body=NO)
    second_id, second = await registry.fetcher("--hold", priority=50)
    asking = asyncio.create_task(choose_fetcher(registry.engine.registry, MIKAN, "rss"))
    await first.says("heard")
    await first.may_answer()
    await first.says("answered")
    await second.says("heard")
    await second.may_answer()
    assert (await asking).winner == second_id
    assert best != second_id


async def test_only_so_many_fetchers_are_asked_at_all(registry: Registry, log: Lines) -> None:
    registry.engine.broadcast = BroadcastPolicy(max_fetchers=2)
    low, _ = await registry.fetcher(priority=10)
    for priority in (20, 30):
        await registry.register(NOWHERE, priority=priority)
    refusal = await refused(choose_fetcher(registry.engine.registry, MIKAN, "rss"))
    assert low not in [each["fetcher_id"] for each in refusal.facts["asked"]]
    assert levels(log, "too_many_fetchers") == ["warning"]


# The whole table of what goes wrong


async def test_no_enabled_fetcher_fails_the_broadcast(registry: Registry, log: Lines) -> None:
    trouble = await failed(choose_fetcher(registry.engine.registry, MIKAN, "rss"))
    assert (trouble.status, trouble.code) == (500, "broadcast_failed")
    assert levels(log, "broadcast_failed") == ["error"]


async def test_an_unknown_target_fails_the_broadcast(registry: Registry, log: Lines) -> None:
    await registry.register(NOWHERE)
    trouble = await failed(
        choose_fetcher(registry.engine.registry, MIKAN, "rss", target=FetcherId(999))
    )
    assert (trouble.status, trouble.code) == (500, "broadcast_failed")
    assert trouble.message == "Fetcher 999 does not exist or is not enabled"
    assert levels(log, "broadcast_failed") == ["error"]


async def test_a_disabled_target_fails_the_broadcast(registry: Registry) -> None:
    target, _ = await registry.fetcher()
    await registry.change(target, FetcherPatch(is_enabled=False))
    trouble = await failed(choose_fetcher(registry.engine.registry, MIKAN, "rss", target=target))
    assert (trouble.code, trouble.facts["fetcher_id"]) == ("broadcast_failed", target)


async def test_an_empty_base_url_fails_the_broadcast(registry: Registry, log: Lines) -> None:
    await registry.fetcher(priority=100)
    empty = await registry.register(" ", priority=1)
    trouble = await failed(choose_fetcher(registry.engine.registry, MIKAN, "rss"))
    assert (trouble.status, trouble.code) == (500, "broadcast_failed")
    assert trouble.message == f"Fetcher {empty} has no base_url"
    assert levels(log, "broadcast_failed") == ["error"]


async def test_a_database_out_of_reach_fails_the_broadcast(
    registry: Registry, log: Lines, tmp_path: Path
) -> None:
    registry.engine.database = open_database(f"sqlite:///{tmp_path}/no-such-folder/h.sqlite")
    trouble = await failed(choose_fetcher(registry.engine.registry, MIKAN, "rss"))
    assert (trouble.status, trouble.code) == (500, "broadcast_failed")
    assert "sqlite" not in trouble.message
    assert set(levels(log, "broadcast_failed")) == {"error"}


async def test_when_no_fetcher_can_nothing_is_assigned(registry: Registry) -> None:
    first, _ = await registry.fetcher(body=NO)
    second, _ = await registry.fetcher("--status", "204", body=YES)
    refusal = await refused(choose_fetcher(registry.engine.registry, MIKAN, "rss"))
    assert (refusal.status, refusal.code) == (400, "no_capable_fetcher")
    assert refusal.message == "No fetcher can handle this subscription request"
    said = {each["fetcher_id"]: each["code"] for each in refusal.facts["asked"]}
    assert said == {first: "no", second: "no_content"}


async def test_a_target_that_cannot_is_refused_by_its_number(registry: Registry) -> None:
    target, _ = await registry.fetcher(body=NO)
    await registry.fetcher(priority=100)
    refusal = await refused(choose_fetcher(registry.engine.registry, MIKAN, "rss", target=target))
    assert (refusal.status, refusal.code) == (400, "no_capable_fetcher")
    assert refusal.message == f"Fetcher {target} cannot handle this subscription request"


@pytest.mark.parametrize("alone", [False, True])
async def test_when_all_time_out_it_is_as_if_nobody_could(
    registry: Registry, log: Lines, alone: bool
) -> None:
    target, first = await registry.fetcher("--hold")
    _, second = await registry.fetcher("--hold", priority=10)
    asking = asyncio.create_task(
        choose_fetcher(registry.engine.registry, MIKAN, "rss", 60, target if alone else None)
    )
    for process in (first,) if alone else (first, second):
        await process.says("heard")
    await registry.clock.advance(60)
    refusal = await refused(asking)
    assert (refusal.status, refusal.code) == (400, "no_capable_fetcher")
    assert {each["code"] for each in refusal.facts["asked"]} == {"timeout"}
    assert levels(log, "fetcher_silent") == ["warning"] * (1 if alone else 2)


async def test_a_fetcher_that_is_gone_is_ignored(registry: Registry, log: Lines) -> None:
    able, _ = await registry.fetcher(priority=10)
    await registry.register(NOWHERE, priority=100)
    assert (await choose_fetcher(registry.engine.registry, MIKAN, "rss")).winner == able
    (silent,) = [line for line in log if line["event"] == "fetcher_silent"]
    assert (silent["code"], silent["log_level"]) == ("connect_error", "warning")


# What is said, to whom, and what is written down


async def test_secrets_in_a_source_url_are_not_shown_before_anything_is_assigned(
    registry: Registry, log: Lines
) -> None:
    _, process = await registry.fetcher()
    url = "https://reader:hunter2@private.example/feed?passkey=hunter2&cat=anime"
    await choose_fetcher(registry.engine.registry, url, "rss")
    said = json.loads(await process.says("heard"))
    assert said == {
        "source_url": "https://private.example/feed?passkey=REDACTED&cat=anime",
        "source_type": "rss",
    }
    assert "hunter2" not in str(log)


async def test_a_question_is_signed_with_the_key_the_fetcher_was_given(registry: Registry) -> None:
    signed = ("--secret", secret_of(KEY), "--now", START.isoformat())
    good, _ = await registry.fetcher(*signed, key=KEY)
    wrong, process = await registry.fetcher(*signed, key=bytes(32), priority=100)
    choice = await choose_fetcher(registry.engine.registry, MIKAN, "rss")
    assert choice.winner == good
    assert await process.says("refused") == ""
    assert wrong != good


async def test_a_key_that_does_not_open_makes_its_fetcher_silent_and_nobody_else(
    registry: Registry, log: Lines
) -> None:
    able, _ = await registry.fetcher(priority=10)
    broken, process = await registry.fetcher(priority=100, key=KEY)
    async with registry.engine.database.write() as tx:
        await tx.run(
            "UPDATE fetcher_modules SET signing_key = ? WHERE fetcher_id = ?", b"x", broken
        )
    assert (await choose_fetcher(registry.engine.registry, MIKAN, "rss")).winner == able
    assert levels(log, "fetcher_silent") == ["error"]
    assert await process.ended() == [f"ready {process.port}"]


async def test_each_answer_is_a_debug_line_and_the_choice_an_information(
    registry: Registry, log: Lines
) -> None:
    able, _ = await registry.fetcher(priority=10)
    unable, _ = await registry.fetcher(priority=100, body=NO)
    await choose_fetcher(registry.engine.registry, MIKAN, "rss")
    answers = {
        line["fetcher"]: (line["log_level"], line["can_handle"])
        for line in log
        if line["event"] == "fetcher_answered"
    }
    assert answers == {able: ("debug", True), unable: ("debug", False)}
    (chosen,) = [line for line in log if line["event"] == "fetcher_chosen"]
    assert (chosen["log_level"], chosen["fetcher"]) == ("info", able)


# Those in this process


async def test_a_built_in_fetcher_is_asked_like_the_others(registry: Registry) -> None:
    mikanani = await registry.enable("mikanani")
    feed = await registry.enable("feed")
    choice = await choose_fetcher(registry.engine.registry, MIKAN, "rss")
    assert choice.winner == mikanani
    elsewhere = await choose_fetcher(
        registry.engine.registry, "https://example.org/?mikanani.me", "rss"
    )
    assert elsewhere.winner == feed
    other, _ = await registry.fetcher(priority=1000)
    assert (await choose_fetcher(registry.engine.registry, MIKAN, "rss")).winner == other


async def test_a_built_in_fetcher_can_be_disabled_like_the_others(registry: Registry) -> None:
    mikanani = await registry.enable("mikanani")
    await registry.change(mikanani, FetcherPatch(is_enabled=False))
    await failed(choose_fetcher(registry.engine.registry, MIKAN, "rss"))


@pytest.mark.parametrize(
    ("handles", "code"),
    [
        (lambda url, kind: 1 // 0, "plugin_error"),
        (lambda url, kind: "yes", "bad_answer"),
    ],
)
async def test_a_plug_in_that_breaks_is_silent(
    registry: Registry, log: Lines, handles: Callable[[str, str], bool], code: str
) -> None:
    plug = BuiltinFetcher("plug", "1.0.0", "A plug-in.", 70, handles)
    registry.engine.builtins = (*BUILTINS, plug)
    await add_builtin_fetchers(registry.engine.registry)
    feed = await registry.enable("feed")
    assert (await choose_fetcher(registry.engine.registry, MIKAN, "rss")).winner == feed
    (silent,) = [line for line in log if line["event"] == "fetcher_silent"]
    assert (silent["code"], silent["log_level"]) == (code, "warning")


async def test_a_plug_in_that_was_uninstalled_is_silent(registry: Registry, log: Lines) -> None:
    plug = BuiltinFetcher("plug", "1.0.0", "A plug-in.", 70, lambda url, kind: True)
    registry.engine.builtins = (*BUILTINS, plug)
    await add_builtin_fetchers(registry.engine.registry)
    assert (
        await choose_fetcher(registry.engine.registry, MIKAN, "rss")
    ).winner == await registry.enable("plug")
    registry.engine.builtins = BUILTINS
    await refused(choose_fetcher(registry.engine.registry, MIKAN, "rss"))
    assert [line["code"] for line in log if line["event"] == "fetcher_silent"] == ["not_installed"]


async def test_a_plug_in_whose_name_is_taken_stops_no_start(registry: Registry, log: Lines) -> None:
    await registry.register(NOWHERE)
    async with registry.engine.database.read() as view:
        taken = (await fetcher_rows.list_fetchers(view))[-1].name
    plug = BuiltinFetcher(taken, "1.0.0", "A plug-in.", 70, lambda url, kind: True)
    good = BuiltinFetcher("good", "1.0.0", "Another.", 70, lambda url, kind: True)
    registry.engine.builtins = (*BUILTINS, plug, good)
    await add_builtin_fetchers(registry.engine.registry)
    async with registry.engine.database.read() as view:
        names = [each.name for each in await fetcher_rows.list_fetchers(view)]
    assert names.count(taken) == 1
    assert "good" in names
    assert levels(log, "fetcher_left_out") == ["warning"]
