"""A ring that counts answers: by the route that took the request, never by what was asked."""

import time

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from headwater.errors import HeadwaterError
from headwater.telemetry.metrics import answered


class Measured:
    """An answer is timed until it begins: a stream may go on for hours."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began, has_begun = time.monotonic(), False

        def note(status: int) -> None:
            nonlocal has_begun
            if not has_begun:
                has_begun = True
                route = getattr(scope.get("route"), "path", None)
                answered(scope["method"], route, status, time.monotonic() - began)

        async def watched(message: Message) -> None:
            if message["type"] == "http.response.start":
                note(message["status"])
            await send(message)

        try:
            await self._app(scope, receive, watched)
        except HeadwaterError as trouble:
            note(trouble.status)
            raise
        except Exception:
            note(500)
            raise
