"""The outermost ring: every answer leaves with safe headers, every error as one envelope."""

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from headwater.entrypoints.api.refusals import internal_trouble, refusal
from headwater.errors import DatabaseError, HeadwaterError
from headwater.telemetry.log import logger

SAFE_HEADERS = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
    "x-frame-options": "DENY",
    "x-robots-tag": "noindex, nofollow",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}

_SAFE = [(name.encode(), value.encode()) for name, value in SAFE_HEADERS.items()]

_log = logger("headwater.api")


class Outermost:
    """Also answers HEAD as GET without its body."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        leaving = _Leaving(send, bodiless=scope["method"] == "HEAD")
        if leaving.bodiless:
            scope = dict(scope) | {"method": "GET", "bodiless": True}
        try:
            await self._app(scope, receive, leaving.send)
        except HeadwaterError as trouble:
            if isinstance(trouble, DatabaseError) or trouble.status >= 500:
                # 502 is about whom we asked: a feed that is not there is no error of ours.
                tell = _log.info if trouble.status == 502 else _log.error
                tell("request_failed", code=trouble.code, problem=trouble.message)
            await leaving.refuse(refusal(trouble), trouble, scope, receive)
        except Exception as trouble:  # noqa: BLE001 -- the last place that can answer at all
            _log.exception("request_crashed", path=scope["path"])
            await leaving.refuse(internal_trouble(), trouble, scope, receive)


class _Leaving:
    """An answer on its way out."""

    def __init__(self, send: Send, *, bodiless: bool) -> None:
        self._send = send
        self._started = False
        self.bodiless = bodiless

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._started = True
            said = {name.lower() for name, _ in message["headers"]}
            safe = [pair for pair in _SAFE if pair[0] not in said]
            message = {**message, "headers": [*message["headers"], *safe]}
        elif self.bodiless and message["type"] == "http.response.body":
            message = {**message, "body": b""}
        await self._send(message)

    async def refuse(
        self, answer: ASGIApp, trouble: Exception, scope: Scope, receive: Receive
    ) -> None:
        """Half an answer cannot be taken back: then the connection must break."""
        if self._started:
            raise trouble
        await answer(scope, receive, self.send)
