"""Files that are whole or not there: written beside, safe on disk, then given their name."""

import os
import shutil
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO
from uuid import uuid4

from headwater.errors import BadInput

STDOUT = "-"


@contextmanager
def made_whole(output: str, say: Callable[[str], None]) -> Iterator[BinaryIO]:
    """The file to write to. Whatever goes wrong inside, what was there before is as it was.

    A pipe or a device has no such thing: what was written to it is there.
    """
    path = Path(output)
    if output == STDOUT:
        with _reader_may_leave():
            yield sys.stdout.buffer
            sys.stdout.buffer.flush()
        return
    if path.exists() and not path.is_file():
        if path.is_dir():
            raise BadInput(f"{path} is a folder.")
        with _trouble_named(path), path.open("wb") as device:
            yield device
        return
    with _stopped_like_an_interrupt(), _trouble_named(path):
        yield from _beside(path.resolve(), say)


def _beside(path: Path, say: Callable[[str], None]) -> Iterator[BinaryIO]:
    part = path.with_name(f".{path.name}.{uuid4().hex[:8]}.part")
    try:
        with part.open("xb") as file:
            if path.exists():
                # Whoever kept the former file to themselves does not want the new one in the open.
                shutil.copymode(path, part)
            yield file
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
        _sync_folder(path.parent)
    except BaseException as trouble:
        part.unlink(missing_ok=True)
        if isinstance(trouble, KeyboardInterrupt):
            left = "as it was" if path.exists() else "not there"
            say(f"Interrupted: nothing was written, {path} is {left}.")
        raise


def _sync_folder(folder: Path) -> None:
    """The new name, too, must survive a power cut."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def _reader_may_leave() -> Iterator[None]:
    """Whoever read our stdout has closed it: nothing more may be said there, even at the end."""
    try:
        yield
    except BrokenPipeError as trouble:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise BadInput("stdout was closed before the end.") from trouble


@contextmanager
def _trouble_named(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as trouble:
        raise BadInput(f"{path} cannot be written: {trouble.strerror or trouble}.") from trouble


@contextmanager
def _stopped_like_an_interrupt() -> Iterator[None]:
    """A polite end (SIGTERM) must tidy up as Ctrl-C does."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
