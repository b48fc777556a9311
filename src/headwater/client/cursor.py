"""How far a reader has come, kept from one start of a program to the next."""

import os
from collections.abc import Callable
from pathlib import Path
from threading import Lock
from typing import Protocol

from headwater.core.errors import BadSettings


class Cursor(Protocol):
    """Where the number is kept: the last event that is dealt with, and all before it."""

    def load(self) -> int | None:
        """None when there is none yet."""

    def save(self, seq: int) -> None:
        """When it returns, the number survives a crash."""


class FileCursor:
    """In a file of its own, replaced whole: after a crash it holds the old number or the new."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = Path(path)

    def load(self) -> int | None:
        try:
            text = self._path.read_bytes().strip()
        except FileNotFoundError:
            return None
        if not text.isdigit() or len(text) > 18:
            raise BadSettings(f"{self._path} does not hold the number of an event.")
        return int(text)

    def save(self, seq: int) -> None:
        draft = self._path.with_name(f".{self._path.name}.new")
        with draft.open("wb") as out:
            out.write(b"%d\n" % seq)
            out.flush()
            os.fsync(out.fileno())
        draft.replace(self._path)
        folder = os.open(self._path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)  # the new name too
        finally:
            os.close(folder)


class EventProgress:
    """Which events were handed out and which are done; the cursor never passes one that is not.

    `done` may be called from any thread; saving is for the reader's own.
    """

    def __init__(self, cursor: Cursor | None, time: Callable[[], float], save_every: float) -> None:
        self._cursor, self._time, self._save_every = cursor, time, save_every
        self._open: dict[int, None] = {}
        self._reached: int | None = None
        self._saved: int | None = None
        self._saved_at = time()
        self._lock = Lock()

    def load(self) -> int | None:
        """Where to go on; None without a cursor, or when it is new."""
        if self._cursor is not None:
            self._saved = self._cursor.load()
        return self._saved

    def told(self, seq: int) -> None:
        """Handed out, to be done some time."""
        if self._cursor is None:
            return
        with self._lock:
            self._open[seq] = None
            self._reached = seq

    def passed(self, seq: int) -> None:
        """Nothing before this number is left to hand out."""
        with self._lock:
            self._reached = seq

    def done(self, seq: int) -> None:
        with self._lock:
            self._open.pop(seq, None)

    def save(self, *, now: bool = False) -> None:
        """Not more often than it is worth; `now` at the end."""
        if self._cursor is None or (not now and self._time() - self._saved_at < self._save_every):
            return
        safe = self._safe()
        if safe is not None and safe != self._saved:
            self._cursor.save(safe)
            self._saved = safe
        self._saved_at = self._time()

    def _safe(self) -> int | None:
        with self._lock:
            if not self._open:
                return self._reached
            return next(iter(self._open)) - 1  # they were handed out in order
