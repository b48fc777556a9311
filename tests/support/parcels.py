"""Parcels by the dozen, for tests of one outlet alone."""

from headwater.events.event_json import WireEvent

AT = 1_767_225_600_000_000
"""2026-01-01T00:00:00Z."""


def parcel(seq: int, *, size: int = 40, event_id: str | None = None, log: str = "a") -> WireEvent:
    """`log` tells apart events of two logs that have the same number."""
    body = b'{"seq":%d,"log":"%s","x":"%s"}' % (seq, log.encode(), b"x" * size)
    name = event_id or f"event-{log}-{seq:06}"
    return WireEvent(seq, name, "new_entry", AT + seq * 1_000_000, "feed-1", {"log": log}, body)


def parcels(first: int, last: int, *, size: int = 40, log: str = "a") -> list[WireEvent]:
    """With both ends."""
    return [parcel(seq, size=size, log=log) for seq in range(first, last + 1)]
