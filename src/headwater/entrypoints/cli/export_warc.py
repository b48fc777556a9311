"""Raw fetches into a web archive: each payload is fetched as it is written."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from hashlib import sha256
from typing import Any, BinaryIO

from headwater import __version__
from headwater.entrypoints.cli.exits import Refused
from headwater.entrypoints.cli.export_rows import Lines
from headwater.entrypoints.cli.export_sources import Asking
from headwater.publish.warc import Capture, packed, request, response, warcinfo

ABOUT = "Raw fetches of feeds, payloads exactly as served"


class WarcRows(Lines):
    """A warcinfo record, then a response and its request for every fetch whose bytes are there."""

    def __init__(self, file: BinaryIO, asking: Asking, *, pack: bool, now: datetime) -> None:
        super().__init__()
        self._file = file
        self._asking = asking
        self._pack = pack
        self._put(warcinfo(f"Headwater/{__version__}", now, ABOUT))

    def write(self, records: Sequence[dict[str, Any]]) -> Iterable[str]:
        warnings = []
        for record in records:
            try:
                payload = self._payload(record)
            except Refused as refusal:
                if refusal.code not in ("blob_damaged", "not_found"):
                    raise
                warnings.append(f"{record['fetch_id']} is left out: {refusal.message}")
                continue
            if payload is not None:
                capture = _capture(record, payload)
                self._put(response(capture))
                self._put(request(capture))
                self.count += 1
        return warnings

    def _payload(self, record: dict[str, Any]) -> bytes | None:
        """None when retention let it go, before or just now."""
        if record["expired_at"] is not None:
            self.left_out += 1
            return None
        try:
            payload = self._asking.payload(record["fetch_id"])
        except Refused as refusal:
            if refusal.code != "raw_expired":
                raise
            self.left_out += 1
            return None
        if sha256(payload).hexdigest() != record["body_sha256"]:
            facts = {"error": "blob_damaged", "message": "The bytes changed on their way here."}
            raise Refused(500, facts)
        return payload

    def _put(self, record: bytes) -> None:
        self._file.write(packed(record) if self._pack else record)


def _capture(record: dict[str, Any], payload: bytes) -> Capture:
    return Capture(
        fetch_id=record["fetch_id"],
        feed_id=record["feed_id"],
        fetched_at=datetime.fromisoformat(record["fetched_at"]),
        url=record["url"],
        status=record["http_status"],
        request_headers=tuple((name, value) for name, value in record["request_headers"]),
        response_headers=tuple((name, value) for name, value in record["response_headers"]),
        payload=payload,
        truncated=record["truncated"],
        error=record["error"],
    )
