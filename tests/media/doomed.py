"""Headwater that kills itself with signal 9, once at every point between two steps of a download.

Run as a program in place of `headwater`. `HEADWATER_TEST_DOOM_FOLDER` remembers the points at which
it has died: each is a file there. Points are right before and right after every commit that has to
do with downloads, and right after every act on the disk or in the client.
"""

import os
import signal
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from functools import wraps
from pathlib import Path
from types import ModuleType
from typing import Any

from headwater.adapters.database import SqlDatabase
from headwater.anime.decide import decision_rows
from headwater.anime.download_clients.aria2 import Aria2
from headwater.anime.download_clients.qbittorrent import QBittorrent
from headwater.anime.download_clients.transmission import Transmission
from headwater.anime.downloads import download_rows, library_file_rows
from headwater.anime.downloads.disk_library import DiskMediaLibrary
from headwater.core.ports import Transaction
from headwater.entrypoints.cli.main import main

FOLDER = "HEADWATER_TEST_DOOM_FOLDER"

Act = Callable[..., Awaitable[Any]]
Named = Callable[[tuple[Any, ...]], str]


def reach(point: str) -> None:
    """The first to come here dies, with its whole process group."""
    try:
        os.close(os.open(Path(os.environ[FOLDER]) / point, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return
    os.killpg(os.getpgrp(), signal.SIGKILL)


def doom() -> None:
    _doom_commits()
    _doom_room(decision_rows, {"insert_decision": None})
    files = ("upsert_library_files", "mark_files_leaving", "mark_files_placed", "mark_file_gone")
    _doom_room(library_file_rows, dict.fromkeys(files))
    states: Mapping[str, Named | None] = {
        "upsert_download": None,
        "claim_downloads": lambda given: (
            f"a claim, {'watched' if given[2] == ('added',) else 'at work'}"
        ),
        "update_claimed_download": lambda given: str(given[2].state),
        "set_download_due": lambda given: str(given[2]),
    }
    _doom_room(download_rows, states)
    for kind in (QBittorrent, Transmission, Aria2):
        _doom_acts(kind, ("add", "remove"))
    _doom_acts(DiskMediaLibrary, ("place", "switch", "recycle", "discard"))


def _doom_room(room: ModuleType, named: Mapping[str, Named | None]) -> None:
    for name, words in named.items():
        setattr(room, name, _marked(getattr(room, name), words or _called(name)))


def _called(name: str) -> Named:
    return lambda given: name


def _marked(act: Act, named: Named) -> Act:
    """Its transaction has to do with downloads. Nothing written is nothing to die for."""

    @wraps(act)
    async def noted(tx: Transaction, *given: Any, **named_too: Any) -> Any:
        done = await act(tx, *given, **named_too)
        if done or done is None:
            vars(tx).setdefault("marks", []).append(named((tx, *given)))
        return done

    return noted


def _doom_commits() -> None:
    write = SqlDatabase.write

    @asynccontextmanager
    async def doomed(self: SqlDatabase) -> AsyncIterator[Transaction]:
        marks: list[str] = []
        async with write(self) as tx:
            vars(tx)["marks"] = marks
            yield tx
            for mark in marks:
                reach(f"before the commit of {mark}")
        for mark in marks:
            reach(f"after the commit of {mark}")

    SqlDatabase.write = doomed  # type: ignore[method-assign]  # this process is made to die


def _doom_acts(kind: type, names: Iterable[str]) -> None:
    for name in names:
        setattr(kind, name, _fatal(getattr(kind, name), f"after {kind.__name__} {name}"))


def _fatal(act: Act, point: str) -> Act:
    @wraps(act)
    async def done(*given: Any, **named: Any) -> Any:
        answer = await act(*given, **named)
        reach(point)
        return answer

    return done


if __name__ == "__main__":
    doom()
    main()
