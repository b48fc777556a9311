"""How far an export came, in words a person can read: `entries=120,raw=0197…`."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

from headwater.entrypoints.cli.export_files import made_whole
from headwater.errors import BadInput

_NUMBERED = ("entries", "events")
_LARGEST = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Cursor:
    """Parts by name; one that is not there begins at the beginning."""

    parts: Mapping[str, str]

    def part(self, kind: str) -> str | None:
        return self.parts.get(kind)

    def moved(self, kind: str, reached: str | None) -> "Cursor":
        return self if reached is None else Cursor({**self.parts, kind: reached})

    def __str__(self) -> str:
        return ",".join(f"{kind}={value}" for kind, value in sorted(self.parts.items()))


def cursor_from(since: str | None, file: Path | None, kinds: Iterable[str]) -> Cursor:
    """What was given counts; else what the file holds, when there is one and it holds anything."""
    wanted = tuple(kinds)
    text = since
    if text is None and file is not None:
        text = _read(file)
    return _cursor(text, wanted) if text and text.strip() else Cursor({})


def keep_cursor(cursor: Cursor, file: Path) -> None:
    """As long as there is none, the next export begins at the beginning."""
    if not cursor.parts:
        return
    with made_whole(str(file), lambda _: None) as out:
        out.write(f"{cursor}\n".encode())


def _cursor(text: str, kinds: tuple[str, ...]) -> Cursor:
    parts: dict[str, str] = {}
    for part in text.strip().split(","):
        kind, mark, value = part.strip().partition("=")
        if not mark and len(kinds) == 1:
            kind, value = kinds[0], kind
        if kind not in ("entries", "events", "raw") or not _is_place(kind, value):
            raise BadInput(f"{text[:200]!r} is not a cursor of an export.", given=text[:200])
        parts[kind] = value
    if not set(kinds) & set(parts):
        raise BadInput(
            f"This cursor is of another export: it says nothing of {' or '.join(kinds)}.",
            given=text[:200],
        )
    return Cursor(parts)


def _is_place(kind: str, value: str) -> bool:
    if kind in _NUMBERED:
        return value.isascii() and value.isdigit() and int(value[:20]) <= _LARGEST
    try:
        return str(UUID(value)) == value
    except ValueError:
        return False


def _read(file: Path) -> str | None:
    try:
        return file.read_text("utf-8")
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as trouble:
        raise BadInput(f"{file} cannot be read: {trouble}.") from trouble
