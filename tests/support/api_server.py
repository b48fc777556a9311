"""The API behind its own listening end: real sockets on loopback, in the test's own loop."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from headwater.entrypoints.api.app import create_app
from headwater.entrypoints.api.dependencies import ApiContext
from headwater.entrypoints.server.listener import listening_socket, url_of_socket
from headwater.entrypoints.server.service import HttpServer
from headwater.events.event import Event
from headwater.events.event_rows import append_events
from headwater.settings import Settings
from tests.support.engine_parts import EngineParts


@dataclass(slots=True)
class Served:
    url: str
    desk: ApiContext
    engine: EngineParts

    @property
    def place(self) -> tuple[str, int]:
        host, _, port = self.url.removeprefix("http://").partition(":")
        return host, int(port)

    async def tell(self, count: int, kind: str = "new_entry", **payload: Any) -> None:
        """So many events, in one commit."""
        events = [Event(kind, None, {"number": n, **payload}) for n in range(count)]
        async with self.engine.database.write() as tx:
            await append_events(tx, events, self.engine.clock.now())


@asynccontextmanager
async def served(engine: EngineParts, settings: Settings) -> AsyncIterator[Served]:
    """As `headwater serve` does it; port 0 in the settings takes any free one."""
    app = create_app(engine.services, settings)
    context: ApiContext = app.state.context
    with listening_socket(settings) as listener:
        part = HttpServer(app, listener, settings, context.closing)
        running = asyncio.create_task(part.run())
        try:
            yield Served(url_of_socket(listener), context, engine)
        finally:
            part.stop()
            await running
