"""A fetcher as its own process: says on its output what happens, answers as it was told to.

    python fetcher_process.py --body '{"can_handle": true}' [--status 200] [--hold]
                              [--secret whsec_…] [--now 2026-01-05T12:00:00+00:00]

Lines on the output: `ready PORT`, `heard JSON` for a question, `refused` for one that is not
signed with the secret, `answered`. With `--hold` each answer waits for a line on the input.
"""

import argparse
import sys
import threading
from datetime import datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from headwater.core.errors import BadSignature
from headwater.core.values.signature import key_of_secret, verify

PATH = "/can-handle-subscription"


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--body", default='{"can_handle": true}')
    parser.add_argument("--status", type=int, default=200)
    parser.add_argument("--hold", action="store_true")
    parser.add_argument("--secret")
    parser.add_argument("--now", type=datetime.fromisoformat)
    return parser.parse_args()


def answering(wish: argparse.Namespace, may_answer: threading.Semaphore) -> type:
    class Answering(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if self.path != PATH or not self._is_signed(body):
                say("refused")
                self._answer(401, b"")
                return
            say(f"heard {body.decode()}")
            if wish.hold:
                may_answer.acquire()
            self._answer(wish.status, wish.body.encode())
            say("answered")

        def _is_signed(self, body: bytes) -> bool:
            if wish.secret is None:
                return True
            try:
                verify(key_of_secret(wish.secret), dict(self.headers.items()), body, wish.now)
            except BadSignature:
                return False
            return True

        def _answer(self, status: int, body: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """What happens is said on the output, in lines of our own."""

    return Answering


def main() -> None:
    wish, may_answer = arguments(), threading.Semaphore(0)
    server = ThreadingHTTPServer(("127.0.0.1", 0), answering(wish, may_answer))
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    say(f"ready {server.server_port}")
    for _ in sys.stdin:
        may_answer.release()


if __name__ == "__main__":
    main()
