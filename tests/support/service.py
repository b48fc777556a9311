"""A real `headwater` process, and an origin server for it to visit, both on loopback."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

HEADWATER = [sys.executable, "-m", "headwater.entrypoints.cli.main"]
SECONDS = 60.0

RSS = b"""<?xml version="1.0" encoding="UTF-8"?>
<rss version="2.0"><channel><title>River news</title><link>https://example.org/</link>
<item><guid isPermaLink="false">one</guid><title>First post</title>
<link>https://example.org/1</link><pubDate>Sun, 01 Mar 2026 12:00:00 GMT</pubDate>
<category>water</category></item>
<item><guid isPermaLink="false">two</guid><title>Second post</title>
<link>https://example.org/2</link><pubDate>Mon, 02 Mar 2026 12:00:00 GMT</pubDate></item>
</channel></rss>"""

ATOM = b"""<?xml version="1.0" encoding="UTF-8"?>
<feed xmlns="http://www.w3.org/2005/Atom"><title>Lake letters</title><id>urn:lake</id>
<updated>2026-03-02T12:00:00Z</updated>
<entry><id>urn:a</id><title>A letter</title><updated>2026-03-02T12:00:00Z</updated></entry>
</feed>"""

PAGE = b"""<!doctype html><html><head><title>A page</title>
<link rel="alternate" type="application/rss+xml" title="Posts" href="/feed.xml">
<link rel="alternate" type="application/atom+xml" title="Letters" href="/atom.xml">
</head><body>Hello</body></html>"""

PLAIN_PAGE = b"<!doctype html><html><head><title>Nothing here</title></head></html>"


@dataclass
class Origin:
    """What is served, and what was asked for."""

    port: int
    pages: dict[str, tuple[str, bytes]]
    asked: list[str] = field(default_factory=list)
    may_answer: threading.Event = field(default_factory=threading.Event)
    """What `/slow` waits for."""

    def url(self, path: str) -> str:
        return f"http://127.0.0.1:{self.port}{path}"


@contextmanager
def origin_server() -> Iterator[Origin]:
    pages = {
        "/feed.xml": ("application/rss+xml", RSS),
        "/atom.xml": ("application/atom+xml", ATOM),
        "/": ("text/html; charset=utf-8", PAGE),
        "/plain": ("text/html; charset=utf-8", PLAIN_PAGE),
    }

    class Answering(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            origin.asked.append(self.path)
            if self.path == "/slow":
                origin.may_answer.wait(SECONDS)
            kind, body = origin.pages.get(self.path, ("text/plain", b""))
            with suppress(ConnectionError):  # whoever asked may have been stopped
                self.send_response(200 if body else 404)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            return

    with ThreadingHTTPServer(("127.0.0.1", 0), Answering) as server:
        server.daemon_threads = True
        origin = Origin(server.server_address[1], pages)
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield origin
        finally:
            origin.may_answer.set()
            server.shutdown()
            thread.join()


def environment(folder: Path, origin: Origin | None = None, **more: str) -> dict[str, str]:
    """Nothing of the surroundings that could change an answer."""
    kept = {n: v for n, v in os.environ.items() if not n.startswith("HEADWATER_")}
    kept.pop("DATABASE_URL", None)
    told = {"HEADWATER_DATA_DIR": str(folder), "NO_COLOR": "1", "COLUMNS": "160", "TZ": "UTC"}
    if origin is not None:
        told["HEADWATER_ALLOW_ADDRESSES"] = f"127.0.0.1:{origin.port}"
        told["HOST_RPS"] = "1000"
    return kept | told | more


@dataclass(frozen=True)
class Outcome:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


def command(env: Mapping[str, str], *args: str, given: bytes | None = None) -> Outcome:
    """One command, run to its end, with no terminal."""
    done = subprocess.run(
        [*HEADWATER, *args],
        env=dict(env),
        input=given if given is not None else b"",
        capture_output=True,
        timeout=SECONDS,
        check=False,
    )
    return Outcome(done.returncode, done.stdout.decode(), done.stderr.decode())


class Service:
    """A `headwater run` that has said where it listens."""

    def __init__(self, env: Mapping[str, str], *args: str) -> None:
        self._process = subprocess.Popen(
            [*HEADWATER, *(args or ("run", "--port", "0"))],
            env=dict(env),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.pid = self._process.pid
        self.greeting: list[str] = []
        self.folder = Path(env["HEADWATER_DATA_DIR"])
        self._read_greeting()

    @property
    def url(self) -> str:
        (line,) = [line for line in self.greeting if "listening" in line]
        return line.split()[1]

    def get(self, path: str, token: str | None = None) -> tuple[int, Any]:
        request = urllib.request.Request(self.url + path)
        if token:
            request.add_header("Authorization", f"Bearer {token}")
        try:
            with urllib.request.urlopen(request, timeout=SECONDS) as answer:
                return answer.status, json.loads(answer.read())
        except urllib.error.HTTPError as refusal:
            with refusal:
                return refusal.code, json.loads(refusal.read())

    def send(self, number: int) -> None:
        self._process.send_signal(number)

    def next_line(self) -> str:
        return self._process.stdout.readline().rstrip("\n") if self._process.stdout else ""

    def stop(self, number: int = signal.SIGINT) -> Outcome:
        """Ask once, and wait for the end."""
        if self._process.poll() is None:
            self._process.send_signal(number)
        out, err = self._process.communicate(timeout=SECONDS)
        return Outcome(self._process.returncode, out, err)

    def kill(self) -> None:
        self._process.kill()
        self._process.communicate()

    def _read_greeting(self) -> None:
        if self._process.stdout is None:
            raise AssertionError("no stdout")
        for line in self._process.stdout:
            self.greeting.append(line.rstrip("\n"))
            if "Ctrl-C" in line:
                return
        _, err = self._process.communicate()
        raise AssertionError(f"it did not start: {err}")


@contextmanager
def service(env: Mapping[str, str], *args: str) -> Iterator[Service]:
    running = Service(env, *args)
    try:
        yield running
    finally:
        running.kill()


def until(fact: Any, seconds: float = SECONDS) -> Any:
    """Look again and again until it is true; what it was."""
    deadline = time.monotonic() + seconds
    while not (seen := fact()):
        if time.monotonic() > deadline:
            raise AssertionError("it did not become true in time")
        time.sleep(0.05)
    return seen
