"""The view of the database that a route asks for: it is closed when the route's handler ends.

FastAPI would keep it until the whole answer is made. By then an answer is remembered under its
Idempotency-Key, which takes a second connection.
"""

from collections.abc import Callable, Coroutine
from contextlib import AsyncExitStack
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from headwater.core.ports import Database, View

Handle = Callable[[Request], Coroutine[Any, Any, Response]]

_OPEN_VIEWS = "headwater.open_views"
"""The key in a request's scope of the stack that holds its views."""


async def open_view(request: Request, database: Database) -> View:
    views: AsyncExitStack = request.scope[_OPEN_VIEWS]
    return await views.enter_async_context(database.read())


def closing_views(handle: Handle) -> Handle:
    """The same handler, which closes the views that were opened for it."""

    async def handle_and_close(request: Request) -> Response:
        async with AsyncExitStack() as views:
            request.scope[_OPEN_VIEWS] = views
            return await handle(request)

    return handle_and_close
