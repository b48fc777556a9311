"""The same publishers behind an ordinary web server: aiohttp's, as most people would write one.

Started as `python -m bench.poll.ordinary`; it takes and answers what `bench.poll.origin` does.
"""

import socket
from functools import partial

from aiohttp import web

from bench.poll.feeds import Counts, Feed
from bench.poll.origin import main


async def answer_by_framework(
    feeds: list[Feed], sockets: list[socket.socket], counts: Counts
) -> None:
    """Each request is parsed, routed and answered by the framework, headers and all."""
    numbers = {listener.getsockname()[0]: number for number, listener in enumerate(sockets)}
    application = web.Application()
    application.router.add_get("/feed.xml", partial(_answer, feeds, numbers, counts))
    runner = web.AppRunner(application, access_log=None)
    await runner.setup()
    for listener in sockets:
        await web.SockSite(runner, listener).start()


async def _answer(
    feeds: list[Feed], numbers: dict[str, int], counts: Counts, request: web.Request
) -> web.Response:
    number = numbers[request.host.partition(":")[0]]
    counts.requests += 1
    counts.asked.add(number)
    served = feeds[number].now.served
    headers = {
        "ETag": served.etag,
        "Last-Modified": served.last_modified,
        "Cache-Control": "max-age=900",
        "Vary": "Accept-Encoding",
    }
    given = request.headers.get("If-None-Match")
    if given is not None:
        counts.conditional += 1
        if served.etag in given:
            counts.not_modified += 1
            return web.Response(status=304, headers=headers)
    headers |= {"Content-Type": served.content_type, "Content-Encoding": "gzip"}
    return web.Response(body=served.coded, headers=headers)


if __name__ == "__main__":
    main(answer_by_framework)
