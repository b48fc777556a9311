"""News of subscriptions: posted in order to those that want it, and as a stream that resumes."""

import asyncio
from collections.abc import AsyncIterator, Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import orjson
import pytest

from headwater.adapters.database import SqlDatabase
from headwater.core.values.instant import to_micros
from headwater.core.values.signature import verify
from headwater.entrypoints.api.app import create_app
from headwater.events import event_rows
from headwater.events.event import Event
from headwater.settings import Settings
from headwater.subscriptions.fetchers import fetcher_rows, receiver_rows
from headwater.subscriptions.fetchers.fetcher import Fetcher, FetcherPatch
from headwater.subscriptions.fetchers.fetcher_client import HttpFetcherClient
from headwater.subscriptions.fetchers.send_news import NewsDeliveries, NewsPolicy
from headwater.subscriptions.registry_events import subscription_created
from headwater.web.address_gate import build_address_policy
from headwater.web.limits import WebLimits
from tests.support.api_caller import Api
from tests.support.clock import START, VirtualClock
from tests.support.engine_parts import EngineParts
from tests.support.event_stream import Reading, reading, while_time_passes
from tests.support.fetcher_server import Receiver
from tests.support.remote_fetcher import KEY, Remote
from tests.support.scripted_engine import ScriptedWeb, an_engine

URL = "https://sources.example/list?token=a-secret"


@pytest.fixture
async def engine(
    database: SqlDatabase, virtual_clock: VirtualClock, tmp_path: Path
) -> AsyncIterator[EngineParts]:
    engine = an_engine(database, virtual_clock, ScriptedWeb(), tmp_path)
    addresses = build_address_policy(["127.0.0.0/8"])
    engine.fetchers = HttpFetcherClient(
        WebLimits(), addresses, clock=virtual_clock, user_agent="test"
    )
    yield engine
    await engine.fetchers.close()


@pytest.fixture
async def receiver() -> AsyncIterator[Receiver]:
    async with Receiver() as listening:
        yield listening


async def tell(engine: EngineParts, *names: str) -> None:
    """Events of these types, told now."""
    events = [Event(name, None, {"number": place}) for place, name in enumerate(names)]
    async with engine.database.write() as tx:
        await event_rows.append_events(tx, events, engine.clock.now())


async def deliver(engine: EngineParts, policy: NewsPolicy | None = None) -> None:
    """One look, and everything it began."""
    deliveries = NewsDeliveries(engine.registry, policy or NewsPolicy())
    await deliveries.look()
    await deliveries.all_done()


async def standing(remote: Remote, fetcher: Fetcher) -> Any:
    (row,) = await remote.rows(
        "SELECT wants_news, news_seq, news_failures, news_next_try_at FROM fetcher_modules"
        f" WHERE fetcher_id = {fetcher.id}"
    )
    return row


async def test_a_new_subscription_is_told_signed_and_without_its_secrets(
    remote: Remote, engine: EngineParts, receiver: Receiver
) -> None:
    fetcher = await remote.fetcher("weather", receiver.base_url, wants_news=True)
    made = await remote.subscribe(fetcher, URL)
    async with engine.database.write() as tx:
        await event_rows.append_events(tx, [subscription_created(made)], engine.clock.now())
    await deliver(engine)
    (heard,) = receiver.heard
    assert heard.path == "/subscriptions"
    message_id = verify(KEY, heard.headers, heard.body, engine.clock.now())
    (event,) = await remote.rows("SELECT event_id FROM events")
    assert message_id == event.event_id == heard.json["id"]
    assert (heard.json["seq"], heard.json["type"]) == (1, "subscription_created")
    assert heard.json["payload"]["source_url"] == "https://sources.example/list?token=REDACTED"
    assert heard.json["payload"]["subscription_id"] == made.id
    assert b"a-secret" not in heard.body
    row = await standing(remote, fetcher)
    assert (row.news_seq, row.news_failures, row.news_next_try_at) == (1, 0, None)


async def test_news_comes_in_order_and_what_is_no_news_does_not_come(
    remote: Remote, engine: EngineParts, receiver: Receiver
) -> None:
    await remote.fetcher("weather", receiver.base_url, wants_news=True)
    await tell(
        engine,
        "subscription_created",
        "feed_failing",
        "subscription_changed",
        "conflict_opened",
        "new_entry",
        "conflict_resolved",
        "subscription_assigned",
        "subscription_deleted",
        "feed_recovered",
    )
    await deliver(engine)
    assert receiver.numbers == [1, 3, 4, 6, 7, 8]
    await deliver(engine)
    assert receiver.numbers == [1, 3, 4, 6, 7, 8]


async def test_what_is_refused_comes_again_later_the_same_and_before_all_else(
    remote: Remote, engine: EngineParts, receiver: Receiver, virtual_clock: VirtualClock
) -> None:
    fetcher = await remote.fetcher("weather", receiver.base_url, wants_news=True)
    await tell(engine, "subscription_created", "subscription_changed", "subscription_deleted")
    receiver.script = [204, 500]
    await deliver(engine)
    assert receiver.numbers == [1, 2]
    row = await standing(remote, fetcher)
    assert (row.news_seq, row.news_failures) == (1, 1)
    assert row.news_next_try_at == to_micros(START + timedelta(seconds=5))
    await virtual_clock.advance(4)
    await deliver(engine)
    assert receiver.numbers == [1, 2]
    await virtual_clock.advance(1)
    await deliver(engine)
    assert receiver.numbers == [1, 2, 2, 3]
    assert receiver.heard[1].body == receiver.heard[2].body
    assert receiver.heard[1].headers["webhook-id"] == receiver.heard[2].headers["webhook-id"]
    verify(KEY, receiver.heard[2].headers, receiver.heard[2].body, virtual_clock.now())


async def test_the_pause_doubles_up_to_its_cap_with_a_little_luck(
    remote: Remote, engine: EngineParts, receiver: Receiver, virtual_clock: VirtualClock
) -> None:
    fetcher = await remote.fetcher("weather", receiver.base_url, wants_news=True)
    await tell(engine, "subscription_created")
    receiver.status = 503
    virtual_clock.script_luck(0.0, 1.0, -1.0, 0.0, 0.0)
    pauses = []
    for _ in range(5):
        await deliver(engine, NewsPolicy(pause_cap=30.0))
        row = await standing(remote, fetcher)
        pauses.append((row.news_next_try_at - to_micros(virtual_clock.now())) / 1_000_000)
        await virtual_clock.advance(pauses[-1])
    assert pauses == [5.0, 12.0, 16.0, 30.0, 30.0]
    assert receiver.numbers == [1] * 5


async def test_a_fetcher_that_is_down_is_told_when_it_is_back(
    remote: Remote, engine: EngineParts, virtual_clock: VirtualClock
) -> None:
    async with Receiver() as first:
        where = first.base_url
    fetcher = await remote.fetcher("weather", where, wants_news=True)
    await tell(engine, "subscription_created")
    await deliver(engine)
    assert (await standing(remote, fetcher)).news_failures == 1
    async with Receiver() as second:
        async with engine.database.write() as tx:
            await fetcher_rows.update_fetcher(
                tx, fetcher.id, FetcherPatch(base_url=second.base_url), virtual_clock.now()
            )
        await virtual_clock.advance(10)
        await deliver(engine)
        assert second.numbers == [1]
    assert (await standing(remote, fetcher)).news_failures == 0


async def test_410_ends_the_news(remote: Remote, engine: EngineParts, receiver: Receiver) -> None:
    fetcher = await remote.fetcher("weather", receiver.base_url, wants_news=True)
    await tell(engine, "subscription_created", "subscription_deleted")
    receiver.status = 410
    await deliver(engine)
    await deliver(engine)
    assert receiver.numbers == [1]
    assert not (await standing(remote, fetcher)).wants_news


async def test_who_did_not_ask_or_is_disabled_is_told_nothing(
    remote: Remote, engine: EngineParts, receiver: Receiver
) -> None:
    await remote.fetcher("silent", receiver.base_url)
    await remote.fetcher("disabled", receiver.base_url, wants_news=True, is_enabled=False)
    await tell(engine, "subscription_created")
    await deliver(engine)
    assert receiver.heard == []


async def test_one_that_does_not_answer_delays_nobody_else(
    remote: Remote, engine: EngineParts, receiver: Receiver
) -> None:
    async with Receiver(gate=asyncio.Event()) as stuck:
        await remote.fetcher("stuck", stuck.base_url, wants_news=True)
        await remote.fetcher("quick", receiver.base_url, wants_news=True)
        await tell(engine, "subscription_created", "subscription_deleted")
        deliveries = NewsDeliveries(engine.registry, NewsPolicy())
        await deliveries.look()
        await receiver.until(2)
        assert receiver.numbers == [1, 2]
        assert stuck.numbers == [1]
        assert stuck.gate is not None
        stuck.gate.set()
        await deliveries.all_done()
        assert stuck.numbers == [1, 2]


async def test_several_deliverers_tell_everything_once(
    remote: Remote,
    engine: EngineParts,
    receiver: Receiver,
    open_another: Callable[[], SqlDatabase],
    virtual_clock: VirtualClock,
    tmp_path: Path,
) -> None:
    """Each with its own connections, as in processes of their own."""
    await remote.fetcher("weather", receiver.base_url, wants_news=True)
    await tell(engine, *["subscription_changed"] * 12)
    others = []
    for _ in range(2):
        other = an_engine(open_another(), virtual_clock, ScriptedWeb(), tmp_path)
        other.fetchers = engine.fetchers
        others.append(other)
    await asyncio.gather(*(deliver(each) for each in (engine, *others, engine)))
    assert receiver.numbers == list(range(1, 13))


async def test_a_dead_deliverer_is_taken_over_from_and_comes_too_late(
    remote: Remote, engine: EngineParts, receiver: Receiver, virtual_clock: VirtualClock
) -> None:
    fetcher = await remote.fetcher("weather", receiver.base_url, wants_news=True)
    await tell(engine, "subscription_created", "subscription_deleted")
    now = to_micros(virtual_clock.now())
    lease_end = now + 40_000_000
    async with engine.database.write() as tx:
        (waiting,) = await receiver_rows.list_due_receivers(tx, now, lease_end)
        assert await receiver_rows.claim_receiver(tx, waiting, now, lease_end, lease_end)
    await deliver(engine)
    assert receiver.heard == []
    await virtual_clock.advance(40)
    await deliver(engine)
    assert receiver.numbers == [1, 2]
    async with engine.database.write() as tx:
        assert not await receiver_rows.mark_delivered(tx, fetcher.id, lease_end, 1, None)
    assert (await standing(remote, fetcher)).news_seq == 2


async def test_a_cursor_far_behind_with_no_news_is_moved_on(
    remote: Remote, engine: EngineParts, receiver: Receiver
) -> None:
    fetcher = await remote.fetcher("weather", receiver.base_url, wants_news=True)
    async with engine.database.write() as tx:
        await tx.run("UPDATE counters SET value = 9999 WHERE name = 'events'")
    await deliver(engine)
    assert (await standing(remote, fetcher)).news_seq == 0
    await tell(engine, "new_entry")
    await deliver(engine)
    assert (await standing(remote, fetcher)).news_seq == 10_000
    await tell(engine, "subscription_created")
    await deliver(engine)
    assert receiver.numbers == [10_001]


async def test_a_stop_leaves_the_rest_for_the_next_start(
    remote: Remote, engine: EngineParts, receiver: Receiver
) -> None:
    fetcher = await remote.fetcher("weather", receiver.base_url, wants_news=True)
    await tell(engine, "subscription_created", "subscription_deleted")
    receiver.gate = asyncio.Event()
    deliveries = NewsDeliveries(engine.registry, NewsPolicy())
    await deliveries.look()
    await receiver.until(1)
    ending = asyncio.create_task(deliveries.end(seconds=30))
    await asyncio.sleep(0)
    receiver.gate.set()
    await ending
    row = await standing(remote, fetcher)
    assert (row.news_seq, row.news_next_try_at) == (1, None)
    await deliver(engine)
    assert receiver.numbers == [1, 2]


@pytest.fixture
def api(engine: EngineParts, tmp_path: Path) -> Api:
    return Api(create_app(engine.services, Settings(data_dir=tmp_path)))


async def test_the_stream_begins_with_now_and_goes_on(
    remote: Remote, engine: EngineParts, api: Api, virtual_clock: VirtualClock
) -> None:
    fetcher = await remote.fetcher()
    await tell(engine, "subscription_created")
    async with reading(api, f"/fetcher-modules/{fetcher.id}/events") as reader:
        assert reader.status == 200
        assert reader.headers["content-type"].startswith("text/event-stream")
        assert reader.headers["cache-control"] == "no-store"
        await virtual_clock.asleep()
        assert reader.events == []
        await tell(engine, "new_entry", "subscription_deleted")
        await virtual_clock.advance_to_next()
        await reader.until(1)
        (event,) = reader.events
        assert (event["id"], event["event"]) == ("3", "subscription_deleted")
        said = orjson.loads(event["data"])
        assert (said["seq"], said["type"], said["payload"]) == (
            3,
            "subscription_deleted",
            {"number": 1},
        )


@pytest.mark.parametrize(("last", "expected"), [("0", [1, 3, 4]), ("1", [3, 4]), ("3", [4])])
async def test_the_stream_goes_on_exactly_after_the_last_event(
    last: str, expected: list[int], remote: Remote, engine: EngineParts, api: Api
) -> None:
    fetcher = await remote.fetcher()
    await tell(engine, "subscription_created", "feed_gone", "conflict_opened", "conflict_resolved")
    target = f"/fetcher-modules/{fetcher.id}/events"
    async with reading(api, target, last_event_id=last) as reader:
        await reader.until(len(expected))
        assert [int(event["id"]) for event in reader.events] == expected
    async with reading(api, f"{target}?after={last}") as reader:
        await reader.until(len(expected))
        assert [int(event["id"]) for event in reader.events] == expected


async def test_the_stream_ends_when_the_service_stops(remote: Remote, api: Api) -> None:
    fetcher = await remote.fetcher()
    desk = api.app.state.context
    reader = Reading()
    scope = api._scope("GET", f"/fetcher-modules/{fetcher.id}/events", [], has_body=False)
    task = asyncio.create_task(api.app(scope, reader.receive, reader.send))
    await reader.begun()
    assert desk.streams[fetcher.id] == 1
    desk.closing.set()
    await asyncio.wait_for(task, 10)
    assert desk.streams[fetcher.id] == 0


async def test_a_stream_lasts_an_hour_at_most(
    remote: Remote, api: Api, virtual_clock: VirtualClock
) -> None:
    fetcher = await remote.fetcher()
    reader = Reading()
    scope = api._scope("GET", f"/fetcher-modules/{fetcher.id}/events", [], has_body=False)
    task = asyncio.create_task(api.app(scope, reader.receive, reader.send))
    await virtual_clock.asleep()
    await virtual_clock.advance(3_601)
    await while_time_passes(virtual_clock, task)


async def test_a_fetcher_reads_a_few_streams_and_no_more(remote: Remote, api: Api) -> None:
    fetcher = await remote.fetcher()
    api.app.state.context.streams[fetcher.id] = 4
    refused = await api.get(f"/fetcher-modules/{fetcher.id}/events")
    assert (refused.status, refused.error) == (429, "rate_limited")


async def test_a_head_of_the_stream_has_an_end(remote: Remote, api: Api) -> None:
    fetcher = await remote.fetcher()
    answer = await api.ask("HEAD", f"/fetcher-modules/{fetcher.id}/events")
    assert (answer.status, answer.body) == (200, b"")


@pytest.mark.parametrize("last", ["-1", "x", "9" * 30])
async def test_a_last_event_id_that_is_no_number_is_refused(
    last: str, remote: Remote, api: Api
) -> None:
    fetcher = await remote.fetcher()
    answer = await api.get(f"/fetcher-modules/{fetcher.id}/events", last_event_id=last)
    assert (answer.status, answer.error) == (400, "bad_request")


async def test_a_disabled_fetcher_has_no_stream(remote: Remote, api: Api) -> None:
    fetcher = await remote.fetcher(is_enabled=False)
    answer = await api.get(f"/fetcher-modules/{fetcher.id}/events")
    assert (answer.status, answer.error) == (403, "forbidden")


async def test_who_took_something_after_a_long_silence_is_soon_told_the_rest(
    remote: Remote, engine: EngineParts, receiver: Receiver, virtual_clock: VirtualClock
) -> None:
    """It is back: one refusal after that is the first of its kind, not the twelfth."""
    fetcher = await remote.fetcher("weather", receiver.base_url, wants_news=True)
    await tell(engine, "subscription_created", "subscription_changed")
    receiver.script = [*[503] * 11, 204, 503]
    for _ in range(12):
        await deliver(engine)
        await virtual_clock.advance(3_600)
    row = await standing(remote, fetcher)
    assert (receiver.numbers[-1], row.news_seq, row.news_failures) == (2, 1, 1)
    asked_at = virtual_clock.now() - timedelta(seconds=3_600)
    assert row.news_next_try_at == to_micros(asked_at + timedelta(seconds=5))


async def test_news_goes_on_after_the_clock_was_set_back(
    remote: Remote, engine: EngineParts, receiver: Receiver, virtual_clock: VirtualClock
) -> None:
    await remote.fetcher("weather", receiver.base_url, wants_news=True)
    await tell(engine, "subscription_created")
    receiver.script = [503]
    await deliver(engine)
    virtual_clock.step(-30 * 86_400)
    await deliver(engine)
    assert receiver.numbers == [1, 1]


async def test_an_event_that_cannot_be_read_keeps_no_news_from_anybody(
    remote: Remote, engine: EngineParts, receiver: Receiver
) -> None:
    await remote.fetcher("weather", receiver.base_url, wants_news=True)
    await tell(engine, "subscription_created", "subscription_changed", "subscription_deleted")
    async with engine.database.write() as tx:
        await tx.run("UPDATE events SET payload = ? WHERE seq = ?", "[1, 2", 2)
    await deliver(engine)
    assert receiver.numbers == [1, 3]
