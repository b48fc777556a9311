"""Fetcher processes under a test's control: started, asked, stopped in their tracks, ended."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

SCRIPT = Path(__file__).with_name("fetcher_process.py")
YES, NO = '{"can_handle": true}', '{"can_handle": false}'


@dataclass(slots=True)
class FetcherProcess:
    process: asyncio.subprocess.Process
    port: int
    lines: list[str] = field(default_factory=list)

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def says(self, word: str) -> str:
        """Returns with the next line that begins with this word; earlier ones are kept."""
        assert self.process.stdout is not None
        while line := (await self.process.stdout.readline()).decode().strip():
            self.lines.append(line)
            if line.startswith(word):
                return line.removeprefix(word).strip()
        raise AssertionError(f"it ended without saying {word!r}: {self.lines}")

    async def may_answer(self) -> None:
        """One question that is held back is answered."""
        assert self.process.stdin is not None
        self.process.stdin.write(b"go\n")
        await self.process.stdin.drain()

    async def ended(self) -> list[str]:
        """Everything it ever said, now that it is over."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.close()
        self.lines += (await self.process.stdout.read()).decode().split("\n")[:-1]
        await self.process.wait()
        return self.lines

    def freeze(self) -> None:
        """The process is there, its socket accepts, and nothing answers."""
        os.kill(self.process.pid, signal.SIGSTOP)

    def thaw(self) -> None:
        os.kill(self.process.pid, signal.SIGCONT)


@asynccontextmanager
async def a_fetcher(*arguments: str, body: str = YES) -> AsyncIterator[FetcherProcess]:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        str(SCRIPT),
        *("--body", body, *arguments),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    fetcher = FetcherProcess(process, 0)
    try:
        fetcher.port = int(await fetcher.says("ready"))
        yield fetcher
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()
