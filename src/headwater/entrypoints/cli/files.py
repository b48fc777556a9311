"""Files that a command reads and writes, where `-` or no name means stdin and stdout."""

import sys
from pathlib import Path

import orjson

from headwater.core.errors import BadInput
from headwater.entrypoints.cli.render import Record

STDIN = "-"


def read_input(name: str, most: int) -> bytes:
    """Read a file or stdin. One byte more than `most` shows the caller that it is too long."""
    try:
        if name == STDIN:
            return sys.stdin.buffer.read(most + 1)
        with Path(name).open("rb") as file:
            return file.read(most + 1)
    except OSError as trouble:
        raise BadInput(f"{name} cannot be read: {trouble.strerror}.", given=name) from trouble


def read_json_object(file: Path) -> Record:
    """Read secrets from a file, as everybody on the machine can see a command line."""
    is_stdin = str(file) == STDIN
    name = "stdin" if is_stdin else str(file)
    try:
        record = orjson.loads(sys.stdin.read() if is_stdin else file.read_text("utf-8"))
    except OSError as trouble:
        raise BadInput(f"{name} cannot be read: {trouble.strerror}.") from trouble
    except ValueError as trouble:
        raise BadInput(f"{name} cannot be read as JSON: {trouble}") from trouble
    if not isinstance(record, dict):
        raise BadInput(f"{name} must hold a JSON object.")
    return record


def write_output(body: bytes, file: Path | None = None) -> None:
    """Write bytes as they are to a file; without one to stdout."""
    if file is None:
        sys.stdout.buffer.write(body)
        sys.stdout.buffer.flush()
        return
    try:
        file.write_bytes(body)
    except OSError as trouble:
        raise BadInput(f"{file} cannot be written: {trouble.strerror}.") from trouble
