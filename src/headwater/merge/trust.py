"""Which entries we know by a guid that has just lost our trust: they come under another uid now."""

from collections.abc import Iterable, Mapping
from typing import Any

from headwater.parse.identity import IdentityMemory

Stored = Mapping[str, Any] | None
"""An `IdentityMemory` as JSON, or None where nothing was learnt yet."""


def newly_distrusted(uid_keys: Iterable[bytes], before: Stored, now: Stored) -> frozenset[bytes]:
    """Nearly always none: guids are rarely doubted, and each only once."""
    if before == now:
        return frozenset()
    old, new = IdentityMemory.from_json(before or {}), IdentityMemory.from_json(now or {})
    if old.distrust_all:
        return frozenset()
    doubted = frozenset(uid_keys) if new.distrust_all else new.ambiguous.intersection(uid_keys)
    return doubted - old.ambiguous
