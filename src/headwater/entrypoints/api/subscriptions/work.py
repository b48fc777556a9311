"""The work of registered fetchers over HTTP: claim it, keep it, report it, hear the news."""

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
from starlette.requests import Request
from starlette.responses import Response

from headwater.auth.tokens import Credential
from headwater.core.errors import Forbidden
from headwater.core.values.instant import from_micros
from headwater.core.values.url import check_source_url
from headwater.entrypoints.api.dependencies import (
    ApiContext,
    App,
    Caller,
    FetcherId,
    RouteContext,
    parse_number,
)
from headwater.entrypoints.api.errors import BodyTooLarge, RateLimited
from headwater.entrypoints.api.events.events import After, LastEventId
from headwater.entrypoints.api.events.stream import EventStream, StreamRequest
from headwater.entrypoints.api.feeds.feed_records import ValidatorsRecord
from headwater.entrypoints.api.idempotency import IdempotencyKey
from headwater.entrypoints.api.models import Strict, parse_moment
from headwater.entrypoints.api.records import Moment, Record
from headwater.entrypoints.api.router import Router
from headwater.events.event_filter import EventFilter
from headwater.feeds.fetch.failures import FAILURE_TEXTS
from headwater.feeds.visit_rows import Visit
from headwater.subscriptions import subscription_rows
from headwater.subscriptions.fetchers import fetcher_rows, remote_work
from headwater.subscriptions.fetchers.fetcher import Fetcher
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
from headwater.subscriptions.fetchers.remote_work import (
    Claim,
    ClaimedWork,
    RemoteVisit,
    RenewedClaims,
    decode_claim,
    decode_renewed,
)
from headwater.subscriptions.registry_events import NEWS_TYPES

LARGEST_ID = 2**63 - 1
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


def _check_source_url(text: str) -> str:
    return check_source_url(text)


Id = Annotated[StrictInt, Field(ge=1, le=LARGEST_ID)]
Fence = Annotated[StrictInt, Field(ge=0, le=LARGEST_ID)]
Seconds = Annotated[StrictInt | StrictFloat, Field(ge=0, le=LONGEST_REST, allow_inf_nan=False)]
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
    AfterValidator(_check_source_url),
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
    url: FetchedUrl | None = None

    def reported(self, most_bytes: int) -> ReportedResponse:
        _check_length(len(self.body_base64) // 4 * 3 - 2, most_bytes)
        body = b64decode(self.body_base64, validate=True)
        _check_length(len(body), most_bytes)
        return ReportedResponse(body, self.status, self.headers, self.url)

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
    etag: HttpValidator | None = Field(None, description="Beside `entries`.")
    last_modified: HttpValidator | None = Field(None, description="Beside `entries`.")
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
        if code is not None and code not in FAILURE_TEXTS:
            raise ValueError("must be a code of a failed visit; `fetcher_error` is always right")
        return code

    @model_validator(mode="after")
    def _makes_sense(self) -> Self:
        if (self.fence is None) != (self.scheduled_at is None):
            raise ValueError("scheduled_at and fence go together")
        brought = [self.raw, self.document, self.entries]
        if sum(each is not None for each in brought) != (self.outcome == "fetched"):
            raise ValueError("`fetched` brings exactly one of raw, document and entries")
        _check_fields_fit(self.model_fields_set, self._allowed())
        return self

    def _allowed(self) -> set[str]:
        if self.entries is not None:
            return {"feed", "etag", "last_modified"}
        return _FIELDS_BY_OUTCOME.get(self.outcome, set())

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
        entries = tuple(each.model_dump(exclude_none=True) for each in self.entries or ())
        feed = self.feed.model_dump(exclude_none=True) if self.feed else {}
        return ReportedEntries(entries, feed, self.etag, self.last_modified)


_FIELDS_BY_OUTCOME = {"failed": {"code", "detail", "status"}, "throttled": {"retry_after_sec"}}
_OUTCOME_FIELDS = {
    "feed", "etag", "last_modified", "code", "detail", "status", "retry_after_sec",
}  # fmt: skip


def _check_fields_fit(said: set[str], allowed: set[str]) -> None:
    if strangers := sorted(said & _OUTCOME_FIELDS - allowed):
        raise ValueError(f"{', '.join(strangers)} says nothing beside this outcome")


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


class RenewedRecord(Record):
    """Subscriptions by number: whose claim is kept, and whose was lost already."""

    renewed: list[int]
    lost: list[int]
    lease_until: Moment

    @classmethod
    def of(cls, renewed: RenewedClaims) -> "RenewedRecord":
        return cls(
            renewed=list(renewed.kept), lost=list(renewed.lost), lease_until=renewed.lease_until
        )


class ResultRecord(Record):
    """What a report led to; `outcome` and `error` as they stand in the history of visits."""

    subscription_id: int
    scheduled_at: Moment
    outcome: str
    error: str | None
    error_detail: str | None
    fetch_id: str | None
    entries_in_document: int | None
    new_entries: int
    updated_entries: int
    next_visit_at: Moment | None
    reason: str

    @classmethod
    def of(cls, subscription_id: int, visit: Visit) -> "ResultRecord":
        return cls(
            subscription_id=subscription_id,
            scheduled_at=visit.scheduled_at,
            outcome=visit.outcome,
            error=visit.error,
            error_detail=visit.error_detail,
            fetch_id=visit.fetch_id,
            entries_in_document=visit.entries_in_document,
            new_entries=visit.new_entries,
            updated_entries=visit.updated_entries,
            next_visit_at=visit.next_at,
            reason=visit.reason,
        )


router = Router(tags=["work of fetchers"])
STREAMS_EACH = 4


async def show_claims(claims: str, fetcher_id: FetcherId, app: App) -> ClaimedPage:
    """The answer to a claim of these visits, with their secrets as they are now."""
    fetcher = await _fetcher(app, fetcher_id)
    return ClaimedPage.of(await remote_work.repeat_claim_answer(app.registry, fetcher, claims))


# Secrets of private sources come with claims: the answer is not written down.
@router.post("/fetcher-modules/{fetcher_id}/claims", right="fetcher", keep=False, again=show_claims)
async def claim_work(
    fetcher_id: FetcherId, app: App, key: IdempotencyKey, body: ClaimsIn | None = None
) -> ClaimedPage:
    """Due visits of this fetcher: its own until the lease ends or the result is reported."""
    asked = body or ClaimsIn()
    claimed = await remote_work.claim_work(
        app.registry,
        await _fetcher(app, fetcher_id),
        limit=min(asked.limit, app.settings.fetcher_claims_max),
        lease_seconds=_lease(app, asked.lease_seconds),
        idempotency=key,
    )
    return ClaimedPage.of(claimed)


async def show_renewed(renewed: str) -> RenewedRecord:
    """The answer to claims that were renewed already."""
    return RenewedRecord.of(decode_renewed(renewed))


@router.post("/fetcher-modules/{fetcher_id}/claims/renew", right="fetcher", again=show_renewed)
async def renew_claims(
    fetcher_id: FetcherId, body: RenewIn, app: App, key: IdempotencyKey
) -> RenewedRecord:
    """More time for work under way. `lease_seconds` 0 gives it back instead, due at once."""
    renewed = await remote_work.renew_claims(
        app.database,
        await _fetcher(app, fetcher_id),
        [_claim_of(each) for each in body.claims],
        lease_seconds=_lease(app, body.lease_seconds),
        idempotency=key,
    )
    return RenewedRecord.of(renewed)


async def finish_report(claim: str, body: ReportIn, app: App, caller: Caller) -> ResultRecord:
    """We died after the claim: the rest is done now, or was done already."""
    fetcher = await _reporter(app, body, caller)
    report = body.reported(app.feeds.reading.max_bytes)
    return await _accept_report(app, fetcher, decode_claim(claim), body, report)


@router.post(
    "/fetcher-results",
    right="fetcher",
    most_bytes="fetcher_report_max_bytes",
    again=finish_report,
)
async def report_result(
    body: ReportIn, app: App, caller: Caller, key: IdempotencyKey
) -> ResultRecord:
    """What a fetcher met. It is archived, parsed, merged, told and planned like a visit of ours.

    Said again for the same claim, it is answered the same and has no second effect.
    """
    report = body.reported(app.feeds.reading.max_bytes)
    fetcher = await _reporter(app, body, caller)
    claim = _claim_in_report(body)
    if claim is None:
        claim = await remote_work.claim_early(
            app.database,
            fetcher,
            body.subscription_id,
            lease_seconds=app.settings.lease_seconds,
            idempotency=key,
        )
    return await _accept_report(app, fetcher, claim, body, report)


async def _accept_report(
    app: ApiContext, fetcher: Fetcher, claim: Claim, body: ReportIn, report: FetcherReport
) -> ResultRecord:
    visit = await remote_work.accept_report(
        app.registry, fetcher, claim, report, elapsed=body.elapsed_ms / 1000
    )
    return ResultRecord.of(body.subscription_id, visit)


@router.get(
    "/fetcher-modules/{fetcher_id}/events",
    right="fetcher",
    etag=False,
    response_class=Response,
    responses={200: {"content": {"text/event-stream": {"schema": {"type": "string"}}}}},
)
async def stream_news(
    fetcher_id: str,
    request: Request,
    at: RouteContext,
    after: After = None,
    last_event_id: LastEventId = None,
) -> Response:
    """Server-sent events about subscriptions and conflicts, each with its number as `id`.

    `Last-Event-ID` (or `after`) goes on after that number; without it, with what comes from now on.
    """
    fetcher = await _fetcher(at, parse_number(fetcher_id, "fetcher"))
    remote_work.check_may_work(fetcher)
    begin = await at.live.beginning(after, last_event_id)
    if request.scope.get("bodiless"):
        return Response(media_type=EventStream.media_type)
    _check_stream_limit(at, fetcher)

    def count(change: int) -> None:
        at.streams[fetcher.id] += change

    token_id = request.scope["credential"].token_id
    return EventStream(
        at.live, StreamRequest(begin, EventFilter(types=NEWS_TYPES), token_id, count)
    )


def _check_stream_limit(at: ApiContext, fetcher: Fetcher) -> None:
    if at.streams[fetcher.id] >= STREAMS_EACH:
        raise RateLimited(f"A fetcher reads {STREAMS_EACH} streams at most.", retry_after_sec=5)
    if at.streams.total() >= at.settings.news_streams_max:
        raise RateLimited("There are too many streams; try again in a while.", retry_after_sec=30)


async def _fetcher(app: ApiContext, fetcher_id: int) -> Fetcher:
    async with app.database.read() as view:
        return await fetcher_rows.get_fetcher(view, fetcher_id)


async def _reporter(at: ApiContext, body: ReportIn, credential: Credential) -> Fetcher:
    """A fetcher's own token speaks for it alone; an admin for the one it names or is assigned."""
    own = credential.fetcher_id
    if own is not None and body.fetcher_id not in (None, own):
        raise Forbidden("This token belongs to another fetcher.")
    async with at.database.read() as view:
        who = own or body.fetcher_id
        if who is None:
            who = (await subscription_rows.get_subscription(view, body.subscription_id)).fetcher_id
        return await fetcher_rows.get_fetcher(view, who)


def _lease(at: ApiContext, asked: float | None) -> float:
    return min(
        at.settings.lease_seconds if asked is None else asked,
        at.settings.fetcher_lease_max_seconds,
    )


def _claim_of(said: ClaimIn) -> Claim:
    moment = parse_moment(said.scheduled_at, "scheduled_at")
    assert moment is not None, "the field is required"
    return Claim(said.subscription_id, from_micros(moment), said.fence)


def _claim_in_report(body: ReportIn) -> Claim | None:
    moment = parse_moment(body.scheduled_at, "scheduled_at")
    if moment is None or body.fence is None:
        return None
    return Claim(body.subscription_id, from_micros(moment), body.fence)
