"""Real feed readers for tests, newsboat and sfeed, and a listening ear between them and us.

newsboat = Newsboat(folder)                 # ProgramMissing where there is none
await newsboat.reload(url)                  # the log says what it warned of
newsboat.items()                            # what it kept
async with overheard(place) as ear:         # asks for ear.url, answered by place
    ear.exchanges                           # every request and the head of its answer
"""

import asyncio
import os
import shutil
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass, field
from pathlib import Path

from tests.support.servers import ServerMissing

WITHIN = 60.0


class ProgramMissing(ServerMissing):
    """The program is not on this machine; the text says how to get it."""


@dataclass(frozen=True, slots=True)
class Shown:
    """An item as a reader's program has it. `moment` is in seconds."""

    id: str
    title: str
    link: str
    content: str
    author: str
    enclosure: str
    moment: int
    categories: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Said:
    """How a run of a program ended, and all that it said."""

    status: int
    words: str


class Newsboat:
    """With a cache and settings of its own; the log holds warnings and worse."""

    def __init__(self, folder: Path) -> None:
        self._program = _found("newsboat", "newsboat")
        self._folder = folder
        (folder / "config").write_text("auto-reload no\ndownload-retries 1\n")

    async def reload(self, *urls: str) -> Said:
        (self._folder / "urls").write_text("".join(f"{url}\n" for url in urls))
        log = self._folder / "log"
        log.write_text("")
        files = {"-u": "urls", "-C": "config", "-c": "cache.db", "-d": "log"}
        words = [word for option, name in files.items() for word in (option, name)]
        said = await _run(self._folder, self._program, *words, "-l", "4", "-x", "reload")
        return Said(said.status, said.words + log.read_text("utf-8"))

    async def imported(self, opml: Path) -> list[str]:
        """The addresses that it found in a list of feeds."""
        (self._folder / "urls").write_text("")
        said = await _run(
            *(self._folder, self._program, "-u", "urls", "-C", "config", "-c", "cache.db"),
            *("-i", str(opml)),
        )
        assert said.status == 0, said.words
        lines = (self._folder / "urls").read_text("utf-8").splitlines()
        return [line.split()[0] for line in lines if line]

    def items(self, url: str) -> list[Shown]:
        """Newest first, as it keeps them."""
        with closing(sqlite3.connect(self._folder / "cache.db")) as cache:
            rows = cache.execute(
                "SELECT guid, title, url, content, author, enclosure_url, pubDate FROM rss_item"
                " WHERE feedurl = ? ORDER BY id DESC",
                (url,),
            ).fetchall()
        return [Shown(*row) for row in rows]

    def title(self, url: str) -> str:
        with closing(sqlite3.connect(self._folder / "cache.db")) as cache:
            rows = cache.execute("SELECT title FROM rss_feed WHERE rssurl = ?", (url,)).fetchall()
        return str(rows[0][0])


class Sfeed:
    """As its own update script runs it: curl asks, `sfeed` reads, lines of tabs are kept."""

    def __init__(self, folder: Path) -> None:
        self._program = _found("sfeed_update", "sfeed")
        _found("curl", "curl")
        self._folder = folder

    async def update(self, url: str) -> Said:
        rc = self._folder / "sfeedrc"
        rc.write_text(
            f"sfeedpath='{self._folder}/feeds'\nfeeds() {{\n  feed 'personal' '{url}'\n}}\n"
        )
        return await _run(self._folder, self._program, str(rc))

    def items(self) -> list[Shown]:
        """Newest first."""
        lines = (self._folder / "feeds" / "personal").read_text("utf-8").split("\n")
        return [_shown(line.split("\t")) for line in lines if line]


def _shown(fields: list[str]) -> Shown:
    """sfeed(5): what would end a field or a line is written with a backslash."""
    moment, title, link, content, _, guid, author, enclosure, categories = fields
    plain = content.replace("\\n", "\n").replace("\\t", "\t").replace("\\\\", "\\")
    return Shown(
        *(guid, title, link, plain, author, enclosure, int(moment)),
        categories=tuple(categories.split("|")) if categories else (),
    )


@dataclass(slots=True)
class Exchange:
    """One request, as it was sent, and its answer, as it came."""

    request: bytes
    answer: bytes = b""

    @property
    def status(self) -> int:
        return int(self.answer.split(b" ", 2)[1])

    def asked(self, name: str) -> str | None:
        return _header(self.request, name)

    def answered(self, name: str) -> str | None:
        return _header(self.answer, name)


@dataclass(slots=True)
class Ear:
    url: str
    exchanges: list[Exchange] = field(default_factory=list)


def _header(message: bytes, name: str) -> str | None:
    for line in message.partition(b"\r\n\r\n")[0].split(b"\r\n")[1:]:
        found, _, value = line.partition(b":")
        if found.decode().lower() == name:
            return value.strip().decode()
    return None


@asynccontextmanager
async def overheard(place: tuple[str, int]) -> AsyncIterator[Ear]:
    """Hands every byte on, both ways, and remembers it. One connection asks one thing at a time."""
    ear = Ear("")

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        far_reader, far_writer = await asyncio.open_connection(*place)
        answers = asyncio.create_task(_answers(far_reader, writer, ear))
        while head := await _head(reader):
            ear.exchanges.append(Exchange(head))
            far_writer.write(head)
            await far_writer.drain()
        far_writer.close()
        await answers

    server = await asyncio.start_server(connected, "127.0.0.1", 0)
    host, port = server.sockets[0].getsockname()[:2]
    ear.url = f"http://{host}:{port}"
    async with server:
        yield ear


async def _head(reader: asyncio.StreamReader) -> bytes:
    try:
        return await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError:
        return b""


async def _answers(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, ear: Ear) -> None:
    while heard := await reader.read(65_536):
        ear.exchanges[-1].answer += heard
        writer.write(heard)
        await writer.drain()
    writer.close()


async def _run(folder: Path, *words: str) -> Said:
    """With a home of its own, and in a language in which every letter can be said."""
    environment = {"HOME": str(folder), "LANG": "C.UTF-8", "PATH": os.environ["PATH"], "TZ": "UTC"}
    process = await asyncio.create_subprocess_exec(
        *words,
        cwd=folder,
        env=environment,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    try:
        said, _ = await asyncio.wait_for(process.communicate(), WITHIN)
    except TimeoutError:
        process.kill()
        await process.wait()
        raise
    assert process.returncode is not None
    return Said(process.returncode, said.decode("utf-8", "replace"))


def _found(program: str, package: str) -> str:
    there = shutil.which(program)
    if there is None:
        raise ProgramMissing(
            f"no {program} on the PATH: `make readers-for-tests` installs the Debian package"
            f" {package}"
        )
    return there
