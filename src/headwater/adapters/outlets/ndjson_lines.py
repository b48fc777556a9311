"""Lines of NDJSON: an event as it is sent, its entry and its raw bytes added at the end."""

import re
from datetime import timedelta
from functools import lru_cache
from typing import NamedTuple

from headwater.ports import Parcel
from headwater.values.instant import EPOCH

_DAY = 86_400_000_000

_HEAD = re.compile(rb'\{"seq":(\d{1,19}),"id":"([!#-\[\]-~]{1,256})"')
# A line of a first delivery ends with two brackets or `null}`, never with a number.
_REPLAY = re.compile(rb',"replay":(\d{1,9})\}\Z')
_LONGEST_REPLAY = 24

# JSON may have these in its texts as they are, but many readers take them for the end of a line.
_ENDS_FOR_SOME = (
    ("\u0085".encode(), rb"\u0085"),
    ("\u2028".encode(), rb"\u2028"),
    ("\u2029".encode(), rb"\u2029"),
)


class Written(NamedTuple):
    """What a line in a file says of itself."""

    seq: int
    event_id: str
    replay: int


def day_of(parcel: Parcel) -> str:
    """The event's own UTC date."""
    return _day(parcel.at // _DAY)


@lru_cache(maxsize=64)
def _day(number: int) -> str:
    return (EPOCH + timedelta(days=number)).date().isoformat()


def line_of(parcel: Parcel, entry: bytes | None, raw: bytes | None, replay: int) -> bytes:
    """`entry` and `raw` are JSON; None leaves the field out. A first delivery names no replay."""
    parts = (
        parcel.body[:-1],
        b"" if entry is None else b',"entry":',
        entry or b"",
        b"" if raw is None else b',"raw":',
        raw or b"",
        b',"replay":%d}\n' % replay if replay else b"}\n",
    )
    line = b"".join(parts)
    if line.find(b"\n") == len(line) - 1 and b"\r" not in line:
        return line
    # Between the parts of JSON a line break is a space; inside its texts there are none.
    return line[:-1].replace(b"\n", b" ").replace(b"\r", b" ") + b"\n"


def one_line_each(lines: bytes) -> bytes:
    """The same lines, none of which any reader takes for two."""
    if lines.isascii():
        return lines
    for mark, spelled in _ENDS_FOR_SOME:
        if mark in lines:
            lines = lines.replace(mark, spelled)
    return lines


def written(line: bytes) -> Written | None:
    """None for a line that is not ours. It comes without its end."""
    head = _HEAD.match(line)
    if head is None:
        return None
    found = _REPLAY.search(line, max(0, len(line) - _LONGEST_REPLAY))
    return Written(int(head[1]), head[2].decode(), int(found[1]) if found else 0)
