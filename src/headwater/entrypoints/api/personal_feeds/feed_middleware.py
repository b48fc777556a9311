"""Middleware that answers feed readers before any route is looked for: they ask all day long."""

from collections.abc import Iterable

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from headwater.core.errors import HeadwaterError
from headwater.entrypoints.api.personal_feeds.feed_query import has_token
from headwater.entrypoints.api.personal_feeds.feed_server import (
    FORMAT_BY_PATH,
    FeedAnswer,
    PersonalFeedServer,
)
from headwater.entrypoints.api.router import Route
from headwater.personal_feeds.metrics import count_personal_feed_answer


class _Route:
    """Stands for a route in the scope: the middleware that counts answers reads its path."""

    __slots__ = ("path",)

    def __init__(self, path: str) -> None:
        self.path = path


_ROUTES = {path: _Route(path) for path in FORMAT_BY_PATH}


class PersonalFeedsMiddleware:
    """Stands inside the middleware that checks the host and counts answers, and outside the one
    that asks for API tokens."""

    def __init__(
        self, app: ASGIApp, feed_server: PersonalFeedServer, routes: Iterable[Route]
    ) -> None:
        self._app = app
        self._feed_server = feed_server
        paths = [route.path for route in routes if route.rules.reader_token]
        self._paths = frozenset(path for path in paths if "{" not in path)
        self._folders = tuple({path.partition("{")[0] for path in paths if "{" in path})

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "GET":
            await self._app(scope, receive, send)
            return
        path = scope["path"]
        if path in _ROUTES:
            scope["route"] = _ROUTES[path]
            await _send_answer(await self._counted(scope), send)
            return
        if (path.startswith(self._folders) or path in self._paths) and _has_reader_token(scope):
            _, scope["holder"] = await self._feed_server.authenticate(scope)
        await self._app(scope, receive, send)

    async def _counted(self, scope: Scope) -> FeedAnswer:
        try:
            answer = await self._feed_server.answer(scope)
        except HeadwaterError as trouble:
            count_personal_feed_answer(trouble.status)
            raise
        count_personal_feed_answer(answer.status)
        return answer


def _has_reader_token(scope: Scope) -> bool:
    """A token in the URL counts only where there is no Authorization header, which comes first."""
    return has_token(scope["query_string"]) and "authorization" not in Headers(scope=scope)


async def _send_answer(answer: FeedAnswer, send: Send) -> None:
    start = {"type": "http.response.start", "status": answer.status, "headers": answer.headers}
    await send(start)
    await send({"type": "http.response.body", "body": answer.body, "more_body": False})
