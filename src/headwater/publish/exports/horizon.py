"""How far payloads may be exported: ids are made before their rows are committed."""

from datetime import datetime

from headwater.values.instant import to_micros

FIRST = "00000000-0000-0000-0000-000000000000"


def first_id_at(moment: datetime) -> str:
    """The smallest UUIDv7 of that moment: every id made earlier sorts before it."""
    digits = f"{max(0, to_micros(moment) // 1000):012x}"
    return f"{digits[:8]}-{digits[8:]}-7000-8000-000000000000"
