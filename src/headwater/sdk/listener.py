"""The listener of a fetcher: answers Headwater's signed questions and news over HTTP."""

import logging
import threading
from collections import OrderedDict
from collections.abc import Callable
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import orjson

from headwater.core.errors import BadSignature
from headwater.core.values.signature import WINDOW, verify
from headwater.sdk.results import News, Question

CAN_HANDLE = "/can-handle-subscription"
NEWS = "/subscriptions"

MOST_BYTES = 256 * 1024
MOST_REMEMBERED = 10_000
READ_SECONDS = 10.0

CanHandle = Callable[[Question], bool]
OnNews = Callable[[News], object]

logger = logging.getLogger("headwater.sdk")


class FetcherListener:
    """Answers in threads of its own, from `start` to `stop`."""

    def __init__(self, host: str, port: int, can_handle: CanHandle, on_news: OnNews) -> None:
        """Listens from here on, so that the port is known; nobody gets an answer before `start`."""
        self.key: bytes | None = None
        self._can_handle, self._on_news = can_handle, on_news
        self._seen = _SeenMessages()
        self._server = ThreadingHTTPServer((host, port), self._handler())
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    @property
    def port(self) -> int:
        return int(self._server.server_address[1])

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        if self._thread.is_alive():
            self._server.shutdown()
            self._thread.join()
        self._server.server_close()

    def answer(self, path: str, headers: dict[str, str], body: bytes) -> tuple[int, Any]:
        """The status and the JSON of an answer. Only messages that Headwater signed a moment ago
        are read."""
        if self.key is None:
            return 503, {"error": "not_ready"}
        try:
            message_id = verify(self.key, headers, body, datetime.now(UTC))
        except BadSignature as trouble:
            return 401, {"error": trouble.code, "message": trouble.message}
        try:
            message = _parse_message(path, orjson.loads(body))
        except (orjson.JSONDecodeError, KeyError, TypeError) as trouble:
            return 400, {"error": "bad_request", "message": str(trouble)}
        try:
            return self._answer_message(message, message_id)
        except Exception as trouble:
            logger.error("%s could not be answered", path, exc_info=trouble)
            return 500, {"error": "fetcher_error"}

    def _answer_message(self, message: Question | News | None, message_id: str) -> tuple[int, Any]:
        match message:
            case Question():
                can = self._can_handle(message)
                return (200, {"can_handle": True}) if can else (204, None)
            case News():
                # The news come again with the same id when our answer was lost on its way.
                self._seen.once(message_id, lambda: self._on_news(message))
                return 204, None
        return 404, {"error": "not_found"}

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        listener = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            server_version = "headwater-sdk"
            sys_version = ""
            timeout = READ_SECONDS

            def do_POST(self) -> None:
                length = self.headers.get("content-length", "")
                if not (length.isascii() and length.isdigit() and int(length) <= MOST_BYTES):
                    self.close_connection = True
                    self._send(413, {"error": "body_too_large"})
                    return
                body = self.rfile.read(int(length))
                self._send(*listener.answer(self.path, dict(self.headers.items()), body))

            def _send(self, status: int, answer: Any) -> None:
                body = b"" if answer is None else orjson.dumps(answer)
                self.send_response(status)
                if body:
                    self.send_header("Content-Type", "application/json")
                if status != 204:
                    self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: object) -> None:
                """Nothing is logged here: Headwater's log has the questions and the answers."""

        return Handler


def _parse_message(path: str, fields: Any) -> Question | News | None:
    """None for a path that takes no messages."""
    if path == CAN_HANDLE:
        return Question(str(fields["source_url"]), str(fields["source_type"]))
    return News.of(fields) if path == NEWS else None


class _SeenMessages:
    """Ids of messages that were handled, for as long as their signatures could be valid."""

    def __init__(self) -> None:
        self._ids: OrderedDict[str, datetime] = OrderedDict()
        self._lock = threading.Lock()

    def once(self, message_id: str, action: Callable[[], object]) -> None:
        """Run the action unless it ran for this message. The id is remembered only when the action
        came to its end: otherwise Headwater sends the message again."""
        now = datetime.now(UTC)
        with self._lock:
            self._forget_old(now)
            if message_id in self._ids:
                return
        action()
        with self._lock:
            self._ids[message_id] = now

    def _forget_old(self, now: datetime) -> None:
        while self._ids:
            oldest = next(iter(self._ids))
            if len(self._ids) < MOST_REMEMBERED and now - self._ids[oldest] <= 2 * WINDOW:
                return
            del self._ids[oldest]
