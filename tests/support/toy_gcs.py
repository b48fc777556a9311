"""A scripted Google Cloud Storage on loopback: objects by name over its XML interface."""

import threading
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType


class _Bucket(BaseHTTPRequestHandler):
    objects: dict[str, bytes]
    wbufsize = -1  # an answer in one packet: two would wait for each other

    def do_PUT(self) -> None:
        self.objects[self.path] = self.rfile.read(int(self.headers["Content-Length"]))
        self._answer(200)

    def do_GET(self) -> None:
        body = self.objects.get(self.path)
        self._answer(404 if body is None else 200, body or b"")

    def do_DELETE(self) -> None:
        self._answer(404 if self.objects.pop(self.path, None) is None else 204)

    def _answer(self, status: int, body: bytes = b"") -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("ETag", '"1"')
        self.send_header("x-goog-generation", "1")
        self.send_header("Last-Modified", formatdate(0, usegmt=True))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Quiet."""


class ToyGcs:
    def __enter__(self) -> str:
        handler = type("Bucket", (_Bucket,), {"objects": {}, "protocol_version": "HTTP/1.1"})
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))
        self._thread.start()
        return f"http://127.0.0.1:{self._server.server_port}"

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
