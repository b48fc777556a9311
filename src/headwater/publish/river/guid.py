"""The guid of an item that was an entry: made of its event alone, so that it is the same each time.

A UUIDv7 of the moment that the event was told. Entries of one document come at the same moment:
among them the one with the latest date is the newest, and of those without a date the first.
"""

from hashlib import sha256

_SECOND = 1_000_000
_DATE_BITS, _TURN_BITS = 32, 42
LAST_TURN = (1 << _TURN_BITS) - 1
_VERSION, _VARIANT = 7, 2


def guid_of(event_id: str, at: int, published: int | None) -> str:
    """`at` and `published` in microseconds. `event_id` is a UUIDv7 too, given in turn."""
    dated = at if published is None else min(published, at)
    seconds = min(max(dated // _SECOND, 0), 2**_DATE_BITS - 1)
    tail = seconds << _TURN_BITS | _turn_of(event_id)
    high, low = tail >> 62, tail & (2**62 - 1)
    milliseconds = min(max(at // 1_000, 0), 2**48 - 1)
    number = milliseconds << 80 | _VERSION << 76 | high << 64 | _VARIANT << 62 | low
    plain = f"{number:032x}"
    return "-".join((plain[:8], plain[8:12], plain[12:16], plain[16:20], plain[20:]))


def _turn_of(event_id: str) -> int:
    """What comes first in a document is the newest, and has the first event: turned round."""
    digits = event_id.replace("-", "")
    try:
        number = int(digits, 16)
    except ValueError:
        number = int(sha256(event_id.encode("utf-8", "surrogatepass")).hexdigest()[:32], 16)
    # After the time, a UUIDv7 counts: 12 bits in front of the variant, 30 behind it.
    counted = (number >> 64 & 0xFFF) << 30 | (number >> 32 & (2**30 - 1))
    return LAST_TURN - counted
