"""Who made a release: the names inside its group bracket, and the tail of a scene name."""

import re
from collections.abc import Mapping

_BETWEEN = re.compile(r"\s*[&＆×✕]\s*|\s+[xX]\s+|\s*[+＋](?=\s*[^+＋\s])\s*")
_SCENE = re.compile(r"(?<=[a-z0-9)\]])[-￡](?P<group>[a-z0-9][a-z0-9@&.]{1,24}) *$")
_SCENE_DASHED = re.compile(
    r"(?<=[a-z0-9)\]])-(?P<group>[a-z0-9]{1,16}-[a-z0-9]{1,16}) *$"
    r"|(?<=[a-z0-9] )-(?P<apart>[a-z][a-z0-9]{1,24}(?:-[a-z0-9]{1,16})?) *$"
)
_AFTER_DASH = re.compile(
    r"[\x1f ]- ?(?P<group>(?!\d+ *$)[a-z0-9][a-z0-9._!-]{1,30})(?: v\d)? *$"
    r"|\x1f-(?P<two>[a-z][a-z0-9._!-]{1,24} [a-z][a-z0-9._!-]{1,24}) *$"
)


_SIGNATURES = {"smzase": "三明治摆烂组", "tsdm": "TSDM字幕组"}
"""How some groups sign their files, and what they are called where they publish."""


def split_groups(content: str, aliases: Mapping[str, str]) -> tuple[str, ...]:
    """The names in a group bracket, each once; an alias is answered by the name it stands for."""
    names = [name for part in _BETWEEN.split(content) if (name := part.strip(" _-"))]
    if len(names) > 1:
        names = [name.replace("_", " ").strip() for name in names]
    named = [_own_name(name, aliases) for name in names]
    return tuple(dict.fromkeys(named))


def _own_name(name: str, aliases: Mapping[str, str]) -> str:
    folded = name.casefold()
    return aliases.get(folded) or _SIGNATURES.get(folded, name)


def scene_group(twin: str, start: int, end: int) -> tuple[int, int] | None:
    """Where the group of a scene name stands at the end of free text: `….x264-GROUP`."""
    match = _SCENE.search(twin, max(start, end - 32), end)
    return match.span("group") if match else None


def dashed_scene_group(twin: str, start: int, end: int) -> tuple[int, int] | None:
    """The same for a group that has a dash of its own or a space before it: `….x264-Some-Raws`,
    `… AAC -Group`."""
    match = _SCENE_DASHED.search(twin, max(start, end - 48), end)
    return match.span(match.lastgroup or 0) if match else None


def trailing_group(line: str) -> tuple[int, int] | None:
    """Where a group stands after the last bracket: `[1080p]_-_THORA`."""
    match = _AFTER_DASH.search(line)
    return match.span(match.lastgroup or 0) if match else None
