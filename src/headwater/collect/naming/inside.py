"""Paths that people give: relative, without a way out, the same on every system."""

import re

from headwater.collect.naming.safe import LONGEST_BYTES, safe_name
from headwater.errors import BadInput

DEEPEST = 16
LONGEST_PATH = 1024

_DRIVE = re.compile(r"[A-Za-z]:")


def checked_folder(path: str) -> str:
    """A folder below the library, `/` between its parts; BadInput for anything else.

    An empty path is the library itself. What a person writes is not changed silently: a part that
    is no safe name is refused, with the name that would be.
    """
    given = path.strip().rstrip("/")
    if not given:
        return ""
    if len(given.encode("utf-8", "replace")) > LONGEST_PATH:
        raise BadInput(f"The path is longer than {LONGEST_PATH} bytes.", path=given[:200])
    if given.startswith(("/", "~", "\\")) or _DRIVE.match(given):
        raise BadInput("The path must be relative to the library.", path=given)
    if "\\" in given:
        raise BadInput("The parts of a path are separated by /, not by \\.", path=given)
    parts = given.split("/")
    if len(parts) > DEEPEST:
        raise BadInput(f"The path has more than {DEEPEST} parts.", path=given)
    return "/".join(_checked_part(part, given) for part in parts)


def _checked_part(part: str, path: str) -> str:
    if part in ("", ".", ".."):
        raise BadInput("The path has a part that is empty, . or ..", path=path)
    if len(part.encode("utf-8", "replace")) > LONGEST_BYTES:
        raise BadInput(f"A part of the path is longer than {LONGEST_BYTES} bytes.", path=path)
    name = safe_name(part)
    if name != part:
        raise BadInput(
            f"{part!r} is no name on every system; {name!r} would be.",
            path=path,
            part=part,
            allowed=name,
        )
    return part


def is_inside(path: str) -> bool:
    """Whether a relative path stays where it starts: asked again of every path before use."""
    if not path or path.startswith(("/", "~", "\\")) or "\\" in path or _DRIVE.match(path):
        return False
    if "\x00" in path:
        return False
    return all(part not in ("", ".", "..") for part in path.split("/"))
