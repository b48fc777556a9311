"""RFC 3339 moments in query strings, strictly: a reader must not guess, and neither must we."""

import re
from datetime import UTC, datetime

from headwater.entrypoints.api.refusals import BadMoment
from headwater.values.instant import to_micros

_RFC3339 = re.compile(
    r"\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d{1,9})?([Zz]|[+-]\d\d:\d\d)", re.ASCII
)


def micros_of(text: str | None, field: str) -> int | None:
    if text is None:
        return None
    try:
        if not _RFC3339.fullmatch(text):
            raise ValueError("not RFC 3339")
        return to_micros(datetime.fromisoformat(_to_micros(text).upper()).astimezone(UTC))
    except (ValueError, OverflowError) as trouble:
        raise BadMoment(
            f"{field} must be an RFC 3339 moment with a zone, such as 2026-01-31T08:00:00Z"
            " (in a URL, write + as %2B).",
            field=field,
        ) from trouble


def _to_micros(text: str) -> str:
    """At most six digits of a second: more are cut, as the database holds no more."""
    return re.sub(r"(\.\d{6})\d+", r"\1", text)
