"""Headwater as it ships: the real worker on the real engine, in a process that does nothing else.

`python -m bench.poll.river follow PORT FEEDS` makes the database and the feeds, all due now;
`… work [PROFILE]` is the worker until the end of its input; with a file name it runs under
cProfile and leaves the profile there. Where and what comes from the environment, as always.
"""

import asyncio
import cProfile
import sys
import threading
from datetime import UTC, datetime

from uuid_utils import uuid7

from bench.poll import stopwatch
from bench.poll.documents import urls
from headwater.core.telemetry.log import configure
from headwater.core.values.ids import FeedId, WorkerId
from headwater.entrypoints.server.event_loop import new_event_loop
from headwater.entrypoints.server.open_files import raise_open_file_limit
from headwater.entrypoints.server.schema import bring_up_to_date
from headwater.feeds.feed import FeedOptions
from headwater.feeds.feed_rows import insert_or_restore_feed
from headwater.settings import Settings, load_settings
from headwater.sinks.from_settings import apply_sink_settings
from headwater.subscriptions.fetchers.builtin import BUILTINS, best_builtin
from headwater.subscriptions.fetchers.fetcher_rows import list_fetchers
from headwater.subscriptions.subscription import NewSubscription
from headwater.subscriptions.subscription_rows import insert_subscription
from headwater.wiring.app import open_plain_database, open_services
from headwater.wiring.background import build_worker, sink_loop
from headwater.wiring.policies import sink_definitions


async def follow_all(settings: Settings, every: list[str]) -> None:
    await bring_up_to_date(settings, allowed=True, say=lambda _: None)
    database, now = open_plain_database(settings), datetime.now(UTC)
    async with database.write() as tx:
        builtin = best_builtin(BUILTINS, await list_fetchers(tx), every[0], "rss")
        assert builtin is not None, "the migration brings the built-in fetchers"
        for url in every:
            followed = await insert_or_restore_feed(
                tx,
                url,
                FeedOptions(),
                feed_id=FeedId(str(uuid7())),
                interval_sec=settings.sched_initial_interval_sec,
                now=now,
                visit_at=now,
            )
            await insert_subscription(
                tx, NewSubscription(url), followed, builtin, auto_selected=True, now=now
            )
    await database.close()


async def work(settings: Settings) -> None:
    """From the start of the worker until nobody holds our input open any more.

    Sinks of the settings are delivered to meanwhile, as in a service.
    """
    loop, over = asyncio.get_running_loop(), asyncio.Event()
    threading.Thread(target=_wait_for_the_end, args=(loop, over), daemon=True).start()
    async with open_services(settings, WorkerId("bench")) as services:
        await apply_sink_settings(
            services.sinks, sink_definitions(settings), most=settings.sinks_max
        )
        parts = (build_worker(services, settings), sink_loop(services, settings))
        stopwatch.started()
        running = [asyncio.create_task(part.run()) for part in parts]
        ended = asyncio.create_task(over.wait())
        await asyncio.wait({*running, ended}, return_when=asyncio.FIRST_COMPLETED)
        for part in parts:
            part.stop()
        await asyncio.gather(*running)


def _wait_for_the_end(loop: asyncio.AbstractEventLoop, over: asyncio.Event) -> None:
    sys.stdin.read()
    loop.call_soon_threadsafe(over.set)


def main() -> None:
    settings = load_settings()
    configure(settings.log_level, settings.log_format)
    raise_open_file_limit()
    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        match sys.argv[1:]:
            case ["follow", port, feeds]:
                runner.run(follow_all(settings, urls(int(feeds), int(port))))
            case ["work"]:
                runner.run(work(settings))
            case ["work", profile]:
                watch = cProfile.Profile()
                watch.runcall(runner.run, work(settings))
                watch.dump_stats(profile)
            case _:
                raise SystemExit(__doc__)


if __name__ == "__main__":
    main()
