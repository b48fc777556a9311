"""What registered fetchers send: which work they claim or keep, and what they met."""

import re
from base64 import b64decode
from binascii import Error as BadBase64
from typing import Annotated, Literal, Self

from pydantic import (
    AfterValidator,
    Field,
    StrictFloat,
    StrictInt,
    StrictStr,
    field_validator,
    model_validator,
)

from headwater.entrypoints.api.models import Strict
from headwater.entrypoints.api.refusals import BodyTooLarge
from headwater.fetch.codes import MEANINGS
from headwater.fetch.reported import (
    LONGEST_DETAIL,
    DocumentText,
    NothingNew,
    PlainEntries,
    RawBytes,
    Reported,
    SaysGone,
    ToldToRest,
    Trouble,
)
from headwater.values.url import checked_source

LARGEST_ID = 2**63 - 1
MOST_CLAIMS = 1_000
MOST_HEADERS, LONGEST_VALUE = 128, 8_192
LONGEST_ELAPSED_MS = 86_400_000
LONGEST_REST = 366 * 86_400

_FIELD_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,256}")
_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")


def _field_value(text: str) -> str:
    if _CONTROL.search(text):
        raise ValueError("must not have control characters")
    return text


def _field_name(text: str) -> str:
    if not _FIELD_NAME.fullmatch(text):
        raise ValueError("is not the name of a header field")
    return text


def _source(text: str) -> str:
    return checked_source(text)


Id = Annotated[StrictInt, Field(ge=1, le=LARGEST_ID)]
Fence = Annotated[StrictInt, Field(ge=0, le=LARGEST_ID)]
Seconds = Annotated[StrictInt | StrictFloat, Field(ge=0, le=LONGEST_REST, allow_inf_nan=False)]
FieldName = Annotated[StrictStr, AfterValidator(_field_name)]
FieldValue = Annotated[StrictStr, Field(max_length=LONGEST_VALUE), AfterValidator(_field_value)]
RawHeaders = Annotated[tuple[tuple[FieldName, FieldValue], ...], Field(max_length=MOST_HEADERS)]
Validator = Annotated[
    StrictStr, Field(min_length=1, max_length=1_024), AfterValidator(_field_value)
]
Place = Annotated[
    StrictStr,
    Field(min_length=1, max_length=4_096, description="Where it came from, after redirects."),
    AfterValidator(_source),
]


class ClaimsIn(Strict):
    limit: Annotated[StrictInt, Field(ge=1, le=MOST_CLAIMS)] = 10
    lease_seconds: Annotated[StrictInt | StrictFloat, Field(ge=5, le=86_400)] | None = Field(
        None, description="How long the work is yours; `lease_seconds` of the settings if not said."
    )


class ClaimIn(Strict):
    subscription_id: Id
    scheduled_at: StrictStr
    fence: Fence


class RenewIn(Strict):
    """`lease_seconds` 0 gives the work back."""

    claims: Annotated[list[ClaimIn], Field(min_length=1, max_length=MOST_CLAIMS)]
    lease_seconds: Annotated[StrictInt | StrictFloat, Field(ge=0, le=86_400)] | None = None


class RawIn(Strict):
    """A response as it was served: its bytes, its status, its headers in order."""

    body_base64: StrictStr
    status: Annotated[StrictInt, Field(ge=100, le=599)] = 200
    headers: RawHeaders = ()
    url: Place | None = None

    def reported(self, most_bytes: int) -> RawBytes:
        _refuse_longer(len(self.body_base64) // 4 * 3 - 2, most_bytes)
        body = b64decode(self.body_base64, validate=True)
        _refuse_longer(len(body), most_bytes)
        return RawBytes(body, self.status, self.headers, self.url)

    @field_validator("body_base64")
    @classmethod
    def _base64(cls, text: str) -> str:
        try:
            b64decode(text, validate=True)
        except (BadBase64, ValueError) as trouble:
            raise ValueError("must be base64") from trouble
        return text


class DocumentIn(Strict):
    """A feed document as text."""

    text: StrictStr
    content_type: FieldValue = "application/xml"
    url: Place | None = None
    etag: Validator | None = None
    last_modified: Validator | None = None

    def reported(self, most_bytes: int) -> DocumentText:
        _refuse_longer(len(self.text.encode("utf-8", "replace")), most_bytes)
        return DocumentText(self.text, self.content_type, self.url, self.etag, self.last_modified)


class PersonIn(Strict):
    name: StrictStr | None = None
    url: StrictStr | None = None
    avatar: StrictStr | None = None


class AttachmentIn(Strict):
    url: StrictStr
    mime_type: StrictStr = "application/octet-stream"
    title: StrictStr | None = None
    size_in_bytes: Annotated[StrictInt, Field(ge=0, le=LARGEST_ID)] | None = None
    duration_in_seconds: Annotated[StrictInt | StrictFloat, Field(ge=0, le=LARGEST_ID)] | None = (
        None
    )


class EntryIn(Strict):
    """An entry, with the names of a JSON Feed item."""

    id: Annotated[StrictStr, Field(min_length=1)]
    url: StrictStr | None = None
    external_url: StrictStr | None = None
    title: StrictStr | None = None
    content_html: StrictStr | None = None
    content_text: StrictStr | None = None
    summary: StrictStr | None = None
    image: StrictStr | None = None
    banner_image: StrictStr | None = None
    date_published: StrictStr | None = None
    date_modified: StrictStr | None = None
    authors: list[PersonIn] | None = None
    tags: list[StrictStr] | None = None
    language: StrictStr | None = None
    attachments: list[AttachmentIn] | None = None


class FeedIn(Strict):
    """What there is to say of the feed that reported entries make."""

    title: StrictStr | None = None
    home_page_url: StrictStr | None = None
    description: StrictStr | None = None
    language: StrictStr | None = None
    icon: StrictStr | None = None
    favicon: StrictStr | None = None
    authors: list[PersonIn] | None = None


class ReportIn(Strict):
    """What a fetcher met. With `scheduled_at` and `fence` of a claim, or without either."""

    subscription_id: Id
    fetcher_id: Id | None = Field(None, description="Who reports; needed with an admin's token.")
    scheduled_at: StrictStr | None = None
    fence: Fence | None = None
    outcome: Literal["fetched", "unchanged", "failed", "throttled", "gone"]
    raw: RawIn | None = None
    document: DocumentIn | None = None
    entries: list[EntryIn] | None = None
    feed: FeedIn | None = Field(None, description="Beside `entries`.")
    etag: Validator | None = Field(None, description="Beside `entries`.")
    last_modified: Validator | None = Field(None, description="Beside `entries`.")
    code: Annotated[StrictStr, Field(max_length=64)] | None = Field(
        None, description="Of a failed visit; with `status` alone it is found by itself."
    )
    detail: Annotated[StrictStr, Field(max_length=LONGEST_DETAIL)] = ""
    status: Annotated[StrictInt, Field(ge=100, le=599)] | None = None
    retry_after_sec: Seconds | None = None
    elapsed_ms: Annotated[StrictInt | StrictFloat, Field(ge=0, le=LONGEST_ELAPSED_MS)] = 0

    @field_validator("code")
    @classmethod
    def _known_code(cls, code: str | None) -> str | None:
        if code is not None and code not in MEANINGS:
            raise ValueError("must be a code of a failed visit; `fetcher_error` is always right")
        return code

    @model_validator(mode="after")
    def _makes_sense(self) -> Self:
        if (self.fence is None) != (self.scheduled_at is None):
            raise ValueError("scheduled_at and fence go together")
        brought = [self.raw, self.document, self.entries]
        if sum(each is not None for each in brought) != (self.outcome == "fetched"):
            raise ValueError("`fetched` brings exactly one of raw, document and entries")
        _refuse_strangers(self.model_fields_set, self._allowed())
        return self

    def _allowed(self) -> set[str]:
        if self.entries is not None:
            return {"feed", "etag", "last_modified"}
        return _BESIDE.get(self.outcome, set())

    def reported(self, most_bytes: int) -> Reported:
        """BodyTooLarge when what it brings is larger than a document may be."""
        match self.outcome:
            case "unchanged":
                return NothingNew()
            case "gone":
                return SaysGone()
            case "throttled":
                return ToldToRest(self.retry_after_sec)
            case "failed":
                return Trouble(self.code, self.detail, self.status)
            case "fetched":
                if self.raw is not None:
                    return self.raw.reported(most_bytes)
                if self.document is not None:
                    return self.document.reported(most_bytes)
                return self._plain_entries()

    def _plain_entries(self) -> PlainEntries:
        entries = tuple(each.model_dump(exclude_none=True) for each in self.entries or ())
        feed = self.feed.model_dump(exclude_none=True) if self.feed else {}
        return PlainEntries(entries, feed, self.etag, self.last_modified)


_BESIDE = {"failed": {"code", "detail", "status"}, "throttled": {"retry_after_sec"}}
_ONLY_SOMETIMES = {
    "feed", "etag", "last_modified", "code", "detail", "status", "retry_after_sec",
}  # fmt: skip


def _refuse_strangers(said: set[str], allowed: set[str]) -> None:
    if strangers := sorted(said & _ONLY_SOMETIMES - allowed):
        raise ValueError(f"{', '.join(strangers)} says nothing beside this outcome")


def _refuse_longer(length: int, most_bytes: int) -> None:
    if length > most_bytes:
        raise BodyTooLarge(f"A document has at most {most_bytes} bytes.", most_bytes=most_bytes)
