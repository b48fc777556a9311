"""Records of readers and their tokens: what callers send about them, and what they get."""

from datetime import datetime
from typing import Annotated, Any, Literal, Self
from urllib.parse import urlencode

from pydantic import AfterValidator, Field

from headwater.core.values.instant import from_micros, maybe_moment, to_micros
from headwater.entrypoints.api.idempotency import ShownOnce
from headwater.entrypoints.api.models import Strict, check_printable, each_once
from headwater.entrypoints.api.records import Moment, NounRecord, Record
from headwater.personal_feeds.ports import FeedReader, ReaderToken
from headwater.personal_feeds.reader_commands import (
    LONGEST_CATEGORY,
    LONGEST_NAME,
    IssuedToken,
    RotatedToken,
)

MOST_CATEGORIES = 10_000
"""More than any setting allows."""
LONGEST_GRACE = 8_760.0


ReaderName = Annotated[
    str, Field(min_length=1, max_length=LONGEST_NAME), AfterValidator(check_printable)
]
CategoryName = Annotated[
    str, Field(min_length=1, max_length=LONGEST_CATEGORY, description="Exactly this name.")
]
CategoryNames = Annotated[
    list[CategoryName], Field(max_length=MOST_CATEGORIES), each_once("one category")
]


class NewReaderIn(Strict):
    """Somebody with a feed of their own."""

    name: ReaderName
    categories: CategoryNames = Field(default=[])


class ReaderChanges(Strict):
    """Only what is named changes; `categories` are all that is followed from then on."""

    name: ReaderName = "a name"
    categories: CategoryNames = Field(default=[])

    @property
    def new_name(self) -> str | None:
        return self.name if "name" in self.model_fields_set else None

    @property
    def new_categories(self) -> list[str] | None:
        return self.categories if "categories" in self.model_fields_set else None


class NewReaderTokenIn(Strict):
    """A new token has no options yet: an empty object, or no body at all."""


class RotateTokenIn(Strict):
    grace_hours: (
        Annotated[float, Field(strict=True, ge=0, le=LONGEST_GRACE, allow_inf_nan=False)] | None
    ) = Field(
        None,
        description="How long the old token works beside the new one; 0: it ends now."
        " Without it as the setting `personal_grace_hours` says.",
    )


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


class RemovedReaderRecord(NounRecord):
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
    def of(cls, token: ReaderToken, now: datetime, /, **more: Any) -> Self:
        """`more` holds the fields that a record beyond this one has."""
        return cls(
            id=token.id,
            reader_id=token.reader_id,
            hint=token.hint,
            state=_token_state(token, to_micros(now)),
            created_at=from_micros(token.created_at),
            until=maybe_moment(token.until),
            revoked_at=maybe_moment(token.revoked_at),
            last_used_at=maybe_moment(token.last_used_at),
            **more,
        )


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

    token: Annotated[str | None, ShownOnce] = Field(
        description="Shown once. Null when the request was a repeated one."
    )
    urls: Annotated[FeedUrls | None, ShownOnce] = Field(
        description="Where the feed is, with the token. Shown once."
    )

    @classmethod
    def of_issued(cls, issued: IssuedToken, base: str, now: datetime, **more: Any) -> Self:
        urls = None if issued.secret is None else FeedUrls.of(base, issued.secret)
        return cls.of(issued.token, now, token=issued.secret, urls=urls, **more)


class RotatedTokenRecord(NewReaderTokenRecord):
    """`replaces` is the old token, with the end it has now."""

    replaces: ReaderTokenRecord

    @classmethod
    def of_rotated(cls, rotated: RotatedToken, base: str, now: datetime) -> "RotatedTokenRecord":
        replaced = ReaderTokenRecord.of(rotated.replaced, now)
        return cls.of_issued(rotated.issued, base, now, replaces=replaced)


def _token_state(token: ReaderToken, now: int) -> TokenState:
    if token.revoked_at is not None:
        return "revoked"
    if not token.is_open(now):
        return "ended"
    return "open" if token.until is None else "ending"
