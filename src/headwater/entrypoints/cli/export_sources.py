"""The sources of exports: pages of the API, requested as fast as it allows."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote
from uuid import UUID

from headwater.core.values.instant import rfc3339
from headwater.entrypoints.api_request import ApiRequest, ApiResponse, Query
from headwater.entrypoints.cli.session import Api, decode_record

PAGE = 200


@dataclass(frozen=True, slots=True)
class ExportBatch:
    """Some records. `reached` is the cursor once they are safe. `total` is None when unknown.

    `warnings` are about trouble, `notes` about things that are as they should be.
    """

    records: list[dict[str, Any]]
    reached: str | None
    done: int
    total: int | None = None
    warnings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PatientApi:
    """The API of a long export: a request that comes too often is repeated later."""

    api: Api

    def page(self, path: str, query: Query) -> Any:
        return decode_record(self._ask(ApiRequest("GET", path, query)))

    def payload(self, fetch_id: str) -> bytes:
        path = f"/raw/{quote(fetch_id, safe='')}"
        return self._ask(ApiRequest("GET", path, headers={"accept": "*/*"})).body

    def _ask(self, request: ApiRequest) -> ApiResponse:
        return self.api.patiently(
            lambda: self.api.ask(request),
            gave_up="The service answers no more requests now; export again later.",
        )


def read_batches(
    kind: str, api: PatientApi, since: str | None, feed_id: str | None
) -> Iterator[ExportBatch]:
    match kind:
        case "entries":
            return _entry_batches(api, int(since or 0), feed_id)
        case "events":
            return _event_batches(api, int(since or 0), feed_id)
        case _:
            return _raw_batches(api, since, feed_id)


def _entry_batches(api: PatientApi, since: int, feed_id: str | None) -> Iterator[ExportBatch]:
    """Read up to the end of the log at the start: later events are for the next export."""
    after, until = since, None
    while True:
        query = {"after": after, "until": until, "limit": PAGE, "feed_id": feed_id}
        page = api.page("/export/entries", query)
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


def _event_batches(api: PatientApi, since: int, feed_id: str | None) -> Iterator[ExportBatch]:
    after, until = since, None
    while True:
        page = api.page("/events", {"after": after, "limit": PAGE, "feed_id": feed_id})
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


def _raw_batches(api: PatientApi, since: str | None, feed_id: str | None) -> Iterator[ExportBatch]:
    after, before, done = since, None, 0
    while True:
        query = {"after": after, "before": before, "limit": PAGE, "feed_id": feed_id}
        page = api.page("/export/raw", query)
        before = page["before"]
        # One record at a time, as its bytes are fetched when it is written.
        for record in page["fetches"]:
            done, after = done + 1, record["fetch_id"]
            yield ExportBatch([record], after, done)
        if page["next"] is None:
            yield ExportBatch([], after, done, notes=(_held_back(page["before"]),))
            return
        after = page["next"]


def _held_back(before: str) -> str:
    """Say when the export ended: the id begins with its moment, in milliseconds."""
    moment = datetime.fromtimestamp(int(UUID(before).hex[:12], 16) / 1000, UTC)
    return f"Fetches after {rfc3339(moment.replace(microsecond=0))} are left for the next export."


def _log_reset_warnings(since: int, until: int) -> list[str]:
    if since <= until:
        return []
    return [
        f"The cursor {since} is beyond the log, which ends at {until}: was it restored from a"
        " backup? The next export goes on from there."
    ]
