"""Cursors: how far a reader has come, saved from one start of a program to the next."""

import os
from collections.abc import Callable
from pathlib import Path
from threading import Lock
from typing import Protocol

from headwater.core.errors import BadSettings


class Cursor(Protocol):
    """Keeps the number of an event: it and all before it are done."""

    def load(self) -> int | None:
        """The number; None when there is none yet."""

    def save(self, seq: int) -> None:
        """Save the number. When this returns, the number survives a crash."""


class FileCursor:
    """A cursor in a file of its own, which is replaced whole: after a crash it holds the old number
    or the new one."""

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
            os.fsync(folder)  # makes the new name durable too
        finally:
            os.close(folder)


class EventProgress:
    """The events that were handed out, and those that are done. The cursor never passes an event
    that is not done.

    Any thread may call `done`; only the reader's own thread may save.
    """

    def __init__(self, cursor: Cursor | None, time: Callable[[], float], save_every: float) -> None:
        self._cursor, self._time, self._save_every = cursor, time, save_every
        self._open: dict[int, None] = {}
        self._reached: int | None = None
        self._saved: int | None = None
        self._saved_at = time()
        self._lock = Lock()

    def load(self) -> int | None:
        """The number to go on after; None without a cursor, or when it is new."""
        if self._cursor is not None:
            self._saved = self._cursor.load()
        return self._saved

    def handed_out(self, seq: int) -> None:
        """The event was handed out, and is not done yet."""
        if self._cursor is None:
            return
        with self._lock:
            self._open[seq] = None
            self._reached = seq

    def passed(self, seq: int) -> None:
        """No event up to this number is left to hand out."""
        with self._lock:
            self._reached = seq

    def done(self, seq: int) -> None:
        with self._lock:
            self._open.pop(seq, None)

    def save(self, *, now: bool = False) -> None:
        """Save the cursor, at most once in `save_every` seconds unless `now`."""
        if self._cursor is None or (not now and self._time() - self._saved_at < self._save_every):
            return
        with self._lock:
            # Events are handed out in order: the first open one is the oldest.
            safe = next(iter(self._open)) - 1 if self._open else self._reached
        if safe is not None and safe != self._saved:
            self._cursor.save(safe)
            self._saved = safe
        self._saved_at = self._time()
