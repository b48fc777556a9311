"""Records of readers and their tokens: a secret stands in the first answer about it alone."""

from datetime import datetime
from typing import Any, Literal
from urllib.parse import urlencode

from pydantic import Field

from headwater.entrypoints.api.records import Moment, Record
from headwater.readers import Issued, Rotated
from headwater.values.instant import from_micros, maybe_moment, to_micros
from headwater.values.personal import FeedReader, ReaderToken

TokenState = Literal["open", "ending", "ended", "revoked"]


class ReaderRecord(Record):
    """`updated_at`: when the name or the categories last changed."""

    id: str
    name: str
    categories: list[str]
    created_at: Moment
    updated_at: Moment

    @classmethod
    def of(cls, reader: FeedReader) -> "ReaderRecord":
        return cls(
            id=reader.id,
            name=reader.name,
            categories=list(reader.categories),
            created_at=from_micros(reader.created_at),
            updated_at=from_micros(reader.changed_at),
        )


class ReaderPage(Record):
    readers: list[ReaderRecord]
    next_cursor: str | None


class RemovedReaderRecord(Record):
    id: str
    name: str
    removed: bool


class ReaderTokenRecord(Record):
    """`ending`: it was rotated and works until `until`. `hint` is how the token begins."""

    id: str
    reader_id: str
    hint: str
    state: TokenState
    created_at: Moment
    until: Moment | None
    revoked_at: Moment | None
    last_used_at: Moment | None

    @classmethod
    def of(cls, token: ReaderToken, now: datetime) -> "ReaderTokenRecord":
        return cls(**cls.fields_of(token, now))

    @staticmethod
    def fields_of(token: ReaderToken, now: datetime) -> dict[str, Any]:
        return {
            "id": token.id,
            "reader_id": token.reader_id,
            "hint": token.hint,
            "state": _state(token, to_micros(now)),
            "created_at": from_micros(token.created_at),
            "until": maybe_moment(token.until),
            "revoked_at": maybe_moment(token.revoked_at),
            "last_used_at": maybe_moment(token.last_used_at),
        }


class ReaderTokenPage(Record):
    """Oldest first, those that opened something once too."""

    reader_id: str
    tokens: list[ReaderTokenRecord]


class FeedUrls(Record):
    """Each opens the reader's feed for whoever has it."""

    rss: str
    atom: str
    json_feed: str
    opml: str

    @classmethod
    def of(cls, base: str, secret: str) -> "FeedUrls":
        query = urlencode({"token": secret})
        return cls(
            rss=f"{base}/rss?{query}",
            atom=f"{base}/atom?{query}",
            json_feed=f"{base}/feed.json?{query}",
            opml=f"{base}/opml?{query}",
        )


class NewReaderTokenRecord(ReaderTokenRecord):
    """A token that was just made."""

    token: str | None = Field(description="Shown once. Null when the request was a repeated one.")
    urls: FeedUrls | None = Field(description="Where the feed is, with the token. Shown once.")

    @classmethod
    def after(cls, issued: Issued, base: str, now: datetime) -> "NewReaderTokenRecord":
        return cls(**cls.fields_of(issued.token, now), **_shown(issued, base))


class RotatedTokenRecord(NewReaderTokenRecord):
    """`replaces` is the old token, with the end it has now."""

    replaces: ReaderTokenRecord

    @classmethod
    def after_rotation(cls, rotated: Rotated, base: str, now: datetime) -> "RotatedTokenRecord":
        return cls(
            **cls.fields_of(rotated.issued.token, now),
            **_shown(rotated.issued, base),
            replaces=ReaderTokenRecord.of(rotated.replaced, now),
        )


def _shown(issued: Issued, base: str) -> dict[str, Any]:
    urls = None if issued.secret is None else FeedUrls.of(base, issued.secret)
    return {"token": issued.secret, "urls": urls}


def _state(token: ReaderToken, now: int) -> TokenState:
    if token.revoked_at is not None:
        return "revoked"
    if not token.is_open(now):
        return "ended"
    return "open" if token.until is None else "ending"
