"""Results that a fetcher may report of a visit, and the work and news that it gets."""

from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import orjson


@dataclass(frozen=True, slots=True)
class Question:
    """Can you handle this source? Secrets in its URL are hidden until the source is yours."""

    source_url: str
    source_type: str


@dataclass(frozen=True, slots=True)
class News:
    """One event about a subscription or a conflict. `id` is the same each time it is sent."""

    seq: int
    id: str
    type: str
    at: str
    payload: Mapping[str, Any]

    @classmethod
    def of(cls, said: Mapping[str, Any]) -> "News":
        return cls(said["seq"], said["id"], said["type"], said["at"], said["payload"])


@dataclass(frozen=True, slots=True)
class Work:
    """One visit to make, yours until `lease_until`.

    `etag` and `last_modified` are those of the document Headwater has: report `Unchanged` when it
    is still that one. `headers` are for a private source: send them to its own origin and nowhere
    else.
    """

    subscription_id: int
    scheduled_at: str
    fence: int
    source_url: str
    source_type: str
    feed_id: str
    name: str | None
    config: Mapping[str, Any]
    lease_until: datetime
    not_before: datetime | None
    etag: str | None
    last_modified: str | None
    headers: tuple[tuple[str, str], ...] = field(default=(), repr=False)

    @property
    def claim(self) -> dict[str, Any]:
        """The fields that prove that this work is yours."""
        return {
            "subscription_id": self.subscription_id,
            "scheduled_at": self.scheduled_at,
            "fence": self.fence,
        }

    @classmethod
    def of(cls, said: Mapping[str, Any]) -> "Work":
        not_before = said["not_before"]
        return cls(
            subscription_id=said["subscription_id"],
            scheduled_at=said["scheduled_at"],
            fence=said["fence"],
            source_url=said["source_url"],
            source_type=said["source_type"],
            feed_id=said["feed_id"],
            name=said["name"],
            config=orjson.loads(said["config"]) if said["config"] else {},
            lease_until=datetime.fromisoformat(said["lease_until"]),
            not_before=None if not_before is None else datetime.fromisoformat(not_before),
            etag=said["validators"]["etag"],
            last_modified=said["validators"]["last_modified"],
            headers=tuple((name, value) for name, value in said["headers"]),
        )


@dataclass(frozen=True, slots=True)
class Document:
    """A feed document (RSS, Atom or JSON Feed) as text."""

    text: str
    content_type: str = "application/xml"
    url: str | None = None
    etag: str | None = None
    last_modified: str | None = None

    def as_json(self) -> dict[str, Any]:
        document = {
            "text": self.text,
            "content_type": self.content_type,
            "url": self.url,
            "etag": self.etag,
            "last_modified": self.last_modified,
        }
        return {"outcome": "fetched", "document": _without_nones(document)}


@dataclass(frozen=True, slots=True)
class Raw:
    """A response exactly as it was served, whatever its status."""

    body: bytes
    status: int = 200
    headers: Sequence[tuple[str, str]] = ()
    url: str | None = None

    def as_json(self) -> dict[str, Any]:
        raw = {
            "body_base64": b64encode(self.body).decode(),
            "status": self.status,
            "headers": [list(field) for field in self.headers],
            "url": self.url,
        }
        return {"outcome": "fetched", "raw": _without_nones(raw)}


@dataclass(frozen=True, slots=True)
class Entries:
    """All entries the source shows now, as JSON Feed items: `id`, `url`, `title`, `content_html`…

    An entry that is missing from the next report counts as gone from the source.
    """

    entries: Sequence[Mapping[str, Any]]
    title: str | None = None
    home_page_url: str | None = None
    etag: str | None = None
    last_modified: str | None = None

    def as_json(self) -> dict[str, Any]:
        feed = _without_nones({"title": self.title, "home_page_url": self.home_page_url})
        further = {
            "feed": feed or None,
            "etag": self.etag,
            "last_modified": self.last_modified,
        }
        return {"outcome": "fetched", "entries": [*self.entries], **_without_nones(further)}


@dataclass(frozen=True, slots=True)
class Unchanged:
    """The same document as last time."""

    def as_json(self) -> dict[str, Any]:
        return {"outcome": "unchanged"}


@dataclass(frozen=True, slots=True)
class Failed:
    """No document. With a `status` alone Headwater finds the code by itself."""

    detail: str = ""
    code: str | None = None
    status: int | None = None

    def as_json(self) -> dict[str, Any]:
        reasons = {"code": self.code, "status": self.status, "detail": self.detail[:1_000] or None}
        return {"outcome": "failed", **_without_nones(reasons)}


@dataclass(frozen=True, slots=True)
class Throttled:
    """The source asks for rest; `retry_after_sec` is how long, when it named a time."""

    retry_after_sec: float | None = None

    def as_json(self) -> dict[str, Any]:
        return {"outcome": "throttled", **_without_nones({"retry_after_sec": self.retry_after_sec})}


@dataclass(frozen=True, slots=True)
class Gone:
    """The source is gone for good."""

    def as_json(self) -> dict[str, Any]:
        return {"outcome": "gone"}


Result = Document | Raw | Entries | Unchanged | Failed | Throttled | Gone


def _without_nones(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}
