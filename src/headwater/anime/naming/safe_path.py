"""Safe paths: turn a stranger's text into a part of a path for Linux, macOS and Windows."""

import re
from collections.abc import Collection
from hashlib import sha256
from unicodedata import category, combining, normalize

from headwater.core.errors import BadInput

LONGEST_BYTES = 255
"""Bytes of a name that ext4, NTFS, APFS, Btrfs and ZFS allow; encrypted folders of some NAS allow
143."""
_RESERVED = frozenset(
    ["con", "prn", "aux", "nul", "conin$", "conout$"]
    + [f"{port}{digit}" for port in ("com", "lpt") for digit in "0123456789¹²³"]
)
_COLON = re.compile(r"\s*:\s+|\s+:")
_SEPARATORS = re.compile(r"[/\\|:]+")
_REPLACED = str.maketrans({'"': "'", "<": "(", ">": ")", "*": None, "?": None})
_EXTENSION = re.compile(r"[A-Za-z0-9]{1,16}")
_SPACES = re.compile(r"\s+")
_JOINS_BACK = frozenset("\u200d\ufe0e\ufe0f") | {chr(code) for code in range(0x1F3FB, 0x1F400)}
_FLAGS = range(0x1F1E6, 0x1F200)


def safe_text(text: str) -> str:
    """A text without separators, controls, directions or characters that a system forbids, in NFC.

    The result may be empty, too long or reserved, or start or end as a name must not.
    """
    normal = normalize("NFC", "".join(map(_visible, text)))
    joined = _SEPARATORS.sub("-", _COLON.sub(" - ", normal))
    return _SPACES.sub(" ", joined.translate(_REPLACED)).strip()


def _visible(letter: str) -> str:
    """Bidirectional controls can make `exe.mkv` look like `vkm.exe`; they and their like go."""
    kind = category(letter)
    if kind in ("Cc", "Zs", "Zl", "Zp"):
        return " "
    if kind in ("Cf", "Cs") or (kind == "Cn" and ord(letter) & 0xFFFE == 0xFFFE):
        return ""
    return letter


def safe_name(text: str, *, extension: str = "", longest: int = LONGEST_BYTES) -> str:
    """One part of a path, never empty, with its whole extension (passed without a dot)."""
    if extension and not _EXTENSION.fullmatch(extension):
        extension = ""
    tail = f".{extension}" if extension else ""
    room = longest - len(tail) - 1  # one byte for the mark of a name that Windows reserves
    # No dot (hidden), dash (an option) or tilde (a home) in front; no dot or space at the end.
    stem = _cut_to(safe_text(text).lstrip(".-~ ").rstrip(". "), room)
    if not stem:  # two such texts are two names
        stem = f"untitled {sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()[:8]}"
    return _not_reserved(_cut_to(stem, room)) + tail


def _not_reserved(name: str) -> str:
    """Windows opens a device for CON, and for CON.anything."""
    first, dot, rest = name.partition(".")
    return f"{first}_{dot}{rest}" if first.rstrip().lower() in _RESERVED else name


def _cut_to(name: str, longest: int) -> str:
    return shorten_name(name, longest).rstrip(". ")


def shorten_name(name: str, longest: int) -> str:
    """Cut a name to at most so many bytes, between characters as people see them."""
    if is_short_enough(name, longest):
        return name
    beginning = name.encode("utf-8", "ignore")[: max(longest, 0)].decode("utf-8", "ignore")
    while beginning and not is_short_enough(beginning, longest):
        beginning = beginning[:-1]
    end = len(beginning)
    while 0 < end < len(name) and _belongs_to_the_one_before(name, end):
        end -= 1
    return beginning[:end].rstrip()


def is_short_enough(name: str, longest: int) -> bool:
    """HFS+ counts UTF-16 units of the decomposed form, and those may be more than our bytes."""
    if len(name.encode("utf-8", "ignore")) > longest:
        return False
    return (
        name.isascii() or len(normalize("NFD", name).encode("utf-16-le", "ignore")) <= 2 * longest
    )


def _belongs_to_the_one_before(name: str, position: int) -> bool:
    """Accents, joined emoji and the second half of a flag are not letters of their own."""
    letter, before = name[position], name[position - 1]
    if combining(letter) or letter in _JOINS_BACK or before == "\u200d":
        return True
    if ord(letter) in _FLAGS and ord(before) in _FLAGS:
        start = position
        while start and ord(name[start - 1]) in _FLAGS:
            start -= 1
        return (position - start) % 2 == 1
    return False


def extension_of(filename: str) -> str:
    """The extension in lower case, without its dot; empty when it is not a plain one."""
    _, dot, extension = filename.rpartition(".")
    return extension.lower() if dot and _EXTENSION.fullmatch(extension) else ""


def collision_key(path: str) -> str:
    """Equal for two paths that some file system takes for one: they differ only in case or normal
    form."""
    return normalize("NFC", normalize("NFC", path).casefold())


def unused_path(path: str, taken: Collection[str]) -> str:
    """`path`, or `path (2)` and so on when a `taken` path would be overwritten."""
    used = {collision_key(other) for other in taken}
    if collision_key(path) not in used:
        return path
    folder, slash, name = path.rpartition("/")
    extension = extension_of(name)
    tail = f".{extension}" if extension else ""
    stem = name[: len(name) - len(tail)]
    number = 2
    while True:
        mark = f" ({number})"
        shorter = shorten_name(stem, LONGEST_BYTES - len(mark) - len(tail)).rstrip(". ")
        numbered = f"{folder}{slash}{shorter}{mark}{tail}"
        if collision_key(numbered) not in used:
            return numbered
        number += 1


DEEPEST = 16
LONGEST_PATH = 1024
_DRIVE = re.compile(r"[A-Za-z]:")


def check_folder(path: str) -> str:
    """A folder below the library, `/` between its parts; BadInput for anything else.

    An empty path is the library itself. A path that a person writes is not changed silently: a
    part that is no safe name is refused, and the error has the name that would be safe.
    """
    path = path.strip().rstrip("/")
    if not path:
        return ""
    if len(path.encode("utf-8", "replace")) > LONGEST_PATH:
        raise BadInput(f"The path is longer than {LONGEST_PATH} bytes.", path=path[:200])
    if path.startswith(("/", "~", "\\")) or _DRIVE.match(path):
        raise BadInput("The path must be relative to the library.", path=path)
    if "\\" in path:
        raise BadInput("The parts of a path are separated by /, not by \\.", path=path)
    parts = path.split("/")
    if len(parts) > DEEPEST:
        raise BadInput(f"The path has more than {DEEPEST} parts.", path=path)
    return "/".join(_checked_part(part, path) for part in parts)


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


def is_safe_relative_path(path: str) -> bool:
    """Whether a relative path stays below its start. Every path is checked again before use."""
    if not path or path.startswith(("/", "~", "\\")) or "\\" in path or _DRIVE.match(path):
        return False
    if "\x00" in path:
        return False
    return all(part not in ("", ".", "..") for part in path.split("/"))
