"""Records of the work of registered fetchers: what they send, and what they get."""

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

from headwater.core.values.instant import from_micros
from headwater.core.values.url import check_source_url
from headwater.entrypoints.api.errors import BodyTooLarge
from headwater.entrypoints.api.feeds.feed_records import ValidatorsRecord
from headwater.entrypoints.api.models import LARGEST_ID, Id, Strict, parse_moment
from headwater.entrypoints.api.records import Moment, NounRecord, Record
from headwater.feeds.fetch.failures import FAILURE_TEXTS
from headwater.subscriptions.fetchers.fetcher_reports import (
    LONGEST_DETAIL,
    FetcherReport,
    ReportedDocument,
    ReportedEntries,
    ReportedFailure,
    ReportedGone,
    ReportedResponse,
    ReportedThrottled,
    ReportedUnchanged,
)
from headwater.subscriptions.fetchers.remote_work import Claim, ClaimedWork, RemoteVisit

MOST_CLAIMS = 1_000
MOST_HEADERS, LONGEST_VALUE = 128, 8_192
LONGEST_ELAPSED_MS = 86_400_000
LONGEST_REST = 366 * 86_400
_FIELD_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,256}")
_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")


def _check_header_value(text: str) -> str:
    if _CONTROL.search(text):
        raise ValueError("must not have control characters")
    return text


def _check_header_name(text: str) -> str:
    if not _FIELD_NAME.fullmatch(text):
        raise ValueError("is not the name of a header field")
    return text


Fence = Annotated[StrictInt, Field(ge=0, le=LARGEST_ID)]
RestSeconds = Annotated[StrictInt | StrictFloat, Field(ge=0, le=LONGEST_REST, allow_inf_nan=False)]
HeaderName = Annotated[StrictStr, AfterValidator(_check_header_name)]
HeaderValue = Annotated[
    StrictStr, Field(max_length=LONGEST_VALUE), AfterValidator(_check_header_value)
]
RawHeaders = Annotated[tuple[tuple[HeaderName, HeaderValue], ...], Field(max_length=MOST_HEADERS)]
HttpValidator = Annotated[
    StrictStr, Field(min_length=1, max_length=1_024), AfterValidator(_check_header_value)
]
FetchedUrl = Annotated[
    StrictStr,
    Field(min_length=1, max_length=4_096, description="Where it came from, after redirects."),
    AfterValidator(check_source_url),
]


class ClaimsIn(Strict):
    limit: Annotated[StrictInt, Field(ge=1, le=MOST_CLAIMS)] = 10
    lease_seconds: Annotated[StrictInt | StrictFloat, Field(ge=5, le=86_400)] | None = Field(
        None,
        description="How long the work is yours; without it, `lease_seconds` of the settings.",
    )


class ClaimIn(Strict):
    subscription_id: Id
    scheduled_at: StrictStr
    fence: Fence

    def claim(self) -> Claim:
        moment = parse_moment(self.scheduled_at, "scheduled_at")
        assert moment is not None, "the field is required"
        return Claim(self.subscription_id, from_micros(moment), self.fence)


class RenewIn(Strict):
    """`lease_seconds` 0 gives the work back."""

    claims: Annotated[list[ClaimIn], Field(min_length=1, max_length=MOST_CLAIMS)]
    lease_seconds: Annotated[StrictInt | StrictFloat, Field(ge=0, le=86_400)] | None = None


class RawIn(Strict):
    """A response as it was served: its bytes, its status, its headers in order."""

    body_base64: StrictStr
    status: Annotated[StrictInt, Field(ge=100, le=599)] = 200
    headers: RawHeaders = ()
    url: FetchedUrl | None = None

    def reported(self, most_bytes: int) -> ReportedResponse:
        _check_length(len(self.body_base64) // 4 * 3 - 2, most_bytes)
        body = b64decode(self.body_base64, validate=True)
        _check_length(len(body), most_bytes)
        return ReportedResponse(body, self.status, self.headers, self.url)

    @field_validator("body_base64")
    @classmethod
    def _check_base64(cls, text: str) -> str:
        try:
            b64decode(text, validate=True)
        except (BadBase64, ValueError) as trouble:
            raise ValueError("must be base64") from trouble
        return text


class DocumentIn(Strict):
    """A feed document as text."""

    text: StrictStr
    content_type: HeaderValue = "application/xml"
    url: FetchedUrl | None = None
    etag: HttpValidator | None = None
    last_modified: HttpValidator | None = None

    def reported(self, most_bytes: int) -> ReportedDocument:
        _check_length(len(self.text.encode("utf-8", "replace")), most_bytes)
        return ReportedDocument(
            self.text, self.content_type, self.url, self.etag, self.last_modified
        )


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
    """Facts about the feed that the reported entries make."""

    title: StrictStr | None = None
    home_page_url: StrictStr | None = None
    description: StrictStr | None = None
    language: StrictStr | None = None
    icon: StrictStr | None = None
    favicon: StrictStr | None = None
    authors: list[PersonIn] | None = None


class ReportIn(Strict):
    """The result of a visit. With `scheduled_at` and `fence` of a claim, or without either."""

    subscription_id: Id
    fetcher_id: Id | None = Field(None, description="Who reports; needed with an admin's token.")
    scheduled_at: StrictStr | None = None
    fence: Fence | None = None
    outcome: Literal["fetched", "unchanged", "failed", "throttled", "gone"]
    raw: RawIn | None = None
    document: DocumentIn | None = None
    entries: list[EntryIn] | None = None
    feed: FeedIn | None = Field(None, description="Beside `entries`.")
    etag: HttpValidator | None = Field(None, description="Beside `entries`.")
    last_modified: HttpValidator | None = Field(None, description="Beside `entries`.")
    code: Annotated[StrictStr, Field(max_length=64)] | None = Field(
        None, description="Of a failed visit; with `status` alone it follows from the status."
    )
    detail: Annotated[StrictStr, Field(max_length=LONGEST_DETAIL)] = ""
    status: Annotated[StrictInt, Field(ge=100, le=599)] | None = None
    retry_after_sec: RestSeconds | None = None
    elapsed_ms: Annotated[StrictInt | StrictFloat, Field(ge=0, le=LONGEST_ELAPSED_MS)] = 0

    @field_validator("code")
    @classmethod
    def _check_code(cls, code: str | None) -> str | None:
        if code is not None and code not in FAILURE_TEXTS:
            raise ValueError("must be a code of a failed visit; `fetcher_error` is always right")
        return code

    @model_validator(mode="after")
    def _check_fields_fit_outcome(self) -> Self:
        if (self.fence is None) != (self.scheduled_at is None):
            raise ValueError("scheduled_at and fence go together")
        contents = [self.raw, self.document, self.entries]
        if sum(content is not None for content in contents) != (self.outcome == "fetched"):
            raise ValueError("`fetched` brings exactly one of raw, document and entries")
        fitting = _FIELDS_BY_OUTCOME.get(
            "entries" if self.entries is not None else self.outcome, set()
        )
        if unfit := sorted(self.model_fields_set & _OUTCOME_FIELDS - fitting):
            raise ValueError(f"{', '.join(unfit)} says nothing beside this outcome")
        return self

    def claim(self) -> Claim | None:
        """None when the fetcher reports without a claim: the visit comes early."""
        moment = parse_moment(self.scheduled_at, "scheduled_at")
        if moment is None or self.fence is None:
            return None
        return Claim(self.subscription_id, from_micros(moment), self.fence)

    def reported(self, most_bytes: int) -> FetcherReport:
        """BodyTooLarge when what it brings is larger than a document may be."""
        match self.outcome:
            case "unchanged":
                return ReportedUnchanged()
            case "gone":
                return ReportedGone()
            case "throttled":
                return ReportedThrottled(self.retry_after_sec)
            case "failed":
                return ReportedFailure(self.code, self.detail, self.status)
            case "fetched":
                if self.raw is not None:
                    return self.raw.reported(most_bytes)
                if self.document is not None:
                    return self.document.reported(most_bytes)
                return self._plain_entries()

    def _plain_entries(self) -> ReportedEntries:
        entries = tuple(entry.model_dump(exclude_none=True) for entry in self.entries or ())
        feed = self.feed.model_dump(exclude_none=True) if self.feed else {}
        return ReportedEntries(entries, feed, self.etag, self.last_modified)


_FIELDS_BY_OUTCOME = {
    "entries": {"feed", "etag", "last_modified"},
    "failed": {"code", "detail", "status"},
    "throttled": {"retry_after_sec"},
}
"""Fields that fit an outcome, or `entries`, and no other."""
_OUTCOME_FIELDS = frozenset().union(*_FIELDS_BY_OUTCOME.values())


def _check_length(length: int, most_bytes: int) -> None:
    if length > most_bytes:
        raise BodyTooLarge(f"A document has at most {most_bytes} bytes.", most_bytes=most_bytes)


class WorkRecord(Record):
    """One visit to make. Report it with its `scheduled_at` and `fence`."""

    subscription_id: int
    feed_id: str
    source_url: str = Field(description="All of it: the secrets in it are yours to use.")
    source_type: str
    name: str | None
    config: str | None
    scheduled_at: Moment
    fence: int
    lease_until: Moment
    not_before: Moment | None = Field(description="The host asked you to rest until then.")
    validators: ValidatorsRecord = Field(description="Of the document we have; null: bring it all.")
    headers: list[tuple[str, str]] = Field(
        description="What this source wants to be shown, at its own origin and nowhere else."
    )
    interval_sec: int

    @classmethod
    def of(cls, work: RemoteVisit, claimed: ClaimedWork) -> "WorkRecord":
        due = work.assigned.due
        return cls(
            subscription_id=work.claim.subscription_id,
            feed_id=due.feed_id,
            source_url=due.url,
            source_type=work.assigned.source_type,
            name=due.overrides.title,
            config=work.assigned.config,
            scheduled_at=work.claim.scheduled_at,
            fence=work.claim.fence,
            lease_until=claimed.lease_until,
            not_before=work.not_before,
            validators=ValidatorsRecord(
                etag=work.validators.etag, last_modified=work.validators.last_modified
            ),
            headers=list(work.headers),
            interval_sec=round(due.state.interval),
        )


class ClaimedPage(Record):
    """`next_due_at`: when there will be more; null when nothing is assigned."""

    claims: list[WorkRecord]
    next_due_at: Moment | None

    @classmethod
    def of(cls, claimed: ClaimedWork) -> "ClaimedPage":
        works = [WorkRecord.of(work, claimed) for work in claimed.works]
        return cls(claims=works, next_due_at=claimed.next_due_at)


class RenewedRecord(NounRecord):
    """Subscriptions by number: whose claim is kept, and whose was lost already."""

    renewed: list[int] = Field(validation_alias="kept")
    lost: list[int]
    lease_until: Moment


class ResultRecord(NounRecord):
    """The visit that a report led to; `outcome` and `error` as in the history of visits."""

    subscription_id: int
    scheduled_at: Moment
    outcome: str
    error: str | None
    error_detail: str | None
    fetch_id: str | None
    entries_in_document: int | None
    new_entries: int
    updated_entries: int
    next_visit_at: Moment | None = Field(validation_alias="next_at")
    reason: str
