"""A ring that answers readers before any route is looked for: feed readers ask all day long."""

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from headwater.entrypoints.api.newsstand import SERVED, Handed, Newsstand
from headwater.entrypoints.api.personal_query import has_token
from headwater.errors import HeadwaterError
from headwater.telemetry.metrics import personal_feed_answered

CALENDAR = "/trackings/calendar.ics"
"""Calendar programs cannot send a header either."""


class _Route:
    """What the ring that counts answers looks at."""

    __slots__ = ("path",)

    def __init__(self, path: str) -> None:
        self.path = path


_ROUTES = {path: _Route(path) for path in SERVED}


class PersonalRing:
    """Inside the rings that check the host and count, before the one that asks for API tokens."""

    def __init__(self, app: ASGIApp, newsstand: Newsstand) -> None:
        self._app = app
        self._newsstand = newsstand

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "GET":
            await self._app(scope, receive, send)
            return
        path = scope["path"]
        if path in _ROUTES:
            scope["route"] = _ROUTES[path]
            await _sent(await self._counted(scope), send)
            return
        if (path.startswith("/meta/") or path == CALENDAR) and _is_a_readers(scope):
            _, scope["holder"] = await self._newsstand.opened(scope)
        await self._app(scope, receive, send)

    async def _counted(self, scope: Scope) -> Handed:
        try:
            answer = await self._newsstand.answer(scope)
        except HeadwaterError as trouble:
            personal_feed_answered(trouble.status)
            raise
        personal_feed_answered(answer.status)
        return answer


def _is_a_readers(scope: Scope) -> bool:
    """A token in the address counts only where none is in the head: that one says more."""
    return has_token(scope["query_string"]) and "authorization" not in Headers(scope=scope)


async def _sent(answer: Handed, send: Send) -> None:
    start = {"type": "http.response.start", "status": answer.status, "headers": answer.headers}
    await send(start)
    await send({"type": "http.response.body", "body": answer.body, "more_body": False})
