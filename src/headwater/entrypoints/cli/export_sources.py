"""Where exports get their records: pages of the API, asked as fast as it lets us."""

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote
from uuid import UUID

from headwater.core.errors import BadInput
from headwater.core.values.instant import rfc3339
from headwater.entrypoints.cli.api_caller import ApiRequest, ApiResponse
from headwater.entrypoints.cli.errors import ApiError
from headwater.entrypoints.cli.session import Api, decode_record

PAGE = 200
MOST_WAITS = 60
LONGEST_WAIT = 60.0


@dataclass(frozen=True, slots=True)
class ExportBatch:
    """Some records; `reached` is the cursor once they are safe. `total` only where it is known.

    `warnings` tell of trouble, `notes` of what is as it should be.
    """

    records: list[dict[str, Any]]
    reached: str | None
    done: int
    total: int | None = None
    warnings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(slots=True)
class PatientApi:
    """The API, asked with patience: a long export may be more than it answers in a minute."""

    api: Api
    waits: int = field(default=0)

    def page(self, path: str, query: Mapping[str, str | int | None]) -> Any:
        return decode_record(self._patiently(ApiRequest("GET", path, query)))

    def payload(self, fetch_id: str) -> bytes:
        path = f"/raw/{quote(fetch_id, safe='')}"
        return self._patiently(ApiRequest("GET", path, headers={"accept": "*/*"})).body

    def _patiently(self, request: ApiRequest) -> ApiResponse:
        for _ in range(MOST_WAITS):
            try:
                return self.api.ask(request)
            except ApiError as refusal:
                if refusal.code != "rate_limited":
                    raise
                time.sleep(min(LONGEST_WAIT, float(refusal.facts.get("retry_after_sec") or 1)))
        raise BadInput("The service answers no more requests now; export again later.")


def read_batches(
    kind: str, asking: PatientApi, since: str | None, feed_id: str | None
) -> Iterator[ExportBatch]:
    match kind:
        case "entries":
            return _entry_batches(asking, int(since or 0), feed_id)
        case "events":
            return _event_batches(asking, int(since or 0), feed_id)
        case _:
            return _raw_batches(asking, since, feed_id)


def _entry_batches(asking: PatientApi, since: int, feed_id: str | None) -> Iterator[ExportBatch]:
    """Up to where the log ended when we began: what comes meanwhile is for the next export."""
    after, until = since, None
    while True:
        asked = {"after": after, "until": until, "limit": PAGE, "feed_id": feed_id}
        page = asking.page("/export/entries", asked)
        until, after = page["until"], page["next"]
        damaged = page["unreadable"]
        yield ExportBatch(
            page["entries"],
            str(after),
            max(0, after - since),
            max(0, until - since),
            (
                *_log_reset_warnings(since, until),
                *([f"{damaged} damaged events."] if damaged else []),
            ),
        )
        if after >= until:
            return


def _event_batches(asking: PatientApi, since: int, feed_id: str | None) -> Iterator[ExportBatch]:
    after, until = since, None
    while True:
        page = asking.page("/events", {"after": after, "limit": PAGE, "feed_id": feed_id})
        until = page["last_seq"] if until is None else until
        after = min(page["next"], until)
        records = [event for event in page["events"] if event["seq"] <= until]
        yield ExportBatch(
            records,
            str(after),
            max(0, after - since),
            max(0, until - since),
            tuple(_log_reset_warnings(since, until)),
        )
        if after >= until:
            return


def _raw_batches(
    asking: PatientApi, since: str | None, feed_id: str | None
) -> Iterator[ExportBatch]:
    after, before, done = since, None, 0
    while True:
        asked = {"after": after, "before": before, "limit": PAGE, "feed_id": feed_id}
        page = asking.page("/export/raw", asked)
        before, found = page["before"], page["fetches"]
        # One at a time: the bytes of each are fetched as it is written.
        for record in found:
            done, after = done + 1, record["fetch_id"]
            yield ExportBatch([record], after, done)
        if page["next"] is None:
            yield ExportBatch([], after, done, notes=(_held_back(page["before"]),))
            return
        after = page["next"]


def _held_back(before: str) -> str:
    """The id begins with its moment, in milliseconds."""
    moment = datetime.fromtimestamp(int(UUID(before).hex[:12], 16) / 1000, UTC)
    return f"Fetches after {rfc3339(moment.replace(microsecond=0))} are left for the next export."


def _log_reset_warnings(since: int, until: int) -> list[str]:
    if since <= until:
        return []
    return [
        f"The cursor {since} is beyond the log, which ends at {until}: was it restored from a"
        " backup? The next export goes on from there."
    ]
