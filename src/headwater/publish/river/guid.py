"""The guid of an item that was an entry: made of its event alone, so that it is the same each time.

A UUIDv7 of the moment that the event was told. Entries of one document come at the same moment:
among them the one with the latest date is the newest, and of those without a date the first.
"""

_SECOND = 1_000_000
_DATE_BITS, _TURN_BITS = 32, 42
_VERSION, _VARIANT = 7, 2


def guid_of(seq: int, at: int, published: int | None) -> str:
    """`seq` is the event's number in the log; `at` and `published` are in microseconds."""
    dated = at if published is None else min(published, at)
    seconds = min(max(dated // _SECOND, 0), 2**_DATE_BITS - 1)
    # What comes first in a document is the newest, and has the first event: turned round.
    tail = seconds << _TURN_BITS | (~seq & 2**_TURN_BITS - 1)
    high, low = tail >> 62, tail & (2**62 - 1)
    milliseconds = min(max(at // 1_000, 0), 2**48 - 1)
    number = milliseconds << 80 | _VERSION << 76 | high << 64 | _VARIANT << 62 | low
    plain = f"{number:032x}"
    return "-".join((plain[:8], plain[8:12], plain[12:16], plain[16:20], plain[20:]))
