"""Visit one feed: request, archive, read, commit. The recipe of the product, top to bottom."""

from dataclasses import replace
from typing import Any

from uuid_utils import uuid7

from headwater.core.errors import DatabaseRefused, SecretUnreadable
from headwater.core.telemetry.trace import span
from headwater.core.values.ids import FeedId, FeedPk, FetchId, WorkerId
from headwater.core.values.instant import to_micros
from headwater.core.values.response import Exchange, HttpAnswer, Validators
from headwater.feeds.commit_visits import ClaimLost, CommitResult
from headwater.feeds.fetch.outcome import Failed, Fetched, Outcome
from headwater.feeds.fetch.request_feed import FetchRequest
from headwater.feeds.judge_visit import FinishedVisit
from headwater.feeds.raw.archive import ArchivedBody
from headwater.feeds.raw.raw_fetch import has_body, raw_fetch_of
from headwater.feeds.read_document import (
    ReadResult,
    UnreadableDocument,
    parse_job_of,
    read_document,
)
from headwater.feeds.schedule.due import DueFeed, wants_whole_document
from headwater.feeds.services import FeedServices
from headwater.feeds.visit_trace import (
    describe_archive,
    describe_merge,
    describe_reading,
    describe_schedule,
)
from headwater.feeds.worker import claim_rows


async def visit_feed(due: DueFeed, services: FeedServices) -> CommitResult:
    """Visit a claimed feed. A visit makes two commits; visits at the same time share both."""
    with span("schedule") as scheduled:
        request = request_of_visit(due, services)
        scheduled.tell(describe_schedule, due, services.worker)
    outcome = await _request(due, request, services)
    return await record_visit(due, outcome, services, conditional=request.is_conditional)


def request_of_visit(due: DueFeed, services: FeedServices) -> FetchRequest:
    """The document is requested only if it has changed; now and then it is requested whole."""
    now = to_micros(services.clock.now())
    whole = wants_whole_document(due, now, services.rules.whole_fetch_days)
    return FetchRequest(
        due.url, Validators() if whole else due.validators, due.overrides.verify_tls
    )


async def _request(due: DueFeed, request: FetchRequest, services: FeedServices) -> Outcome:
    """A private feed whose credentials cannot be decrypted is not requested: the fault is ours."""
    if not due.has_credentials:
        return await services.fetcher.fetch(request)
    try:
        keyring = await services.keyrings.open(due.feed, due.url)
    except SecretUnreadable as error:
        return _outcome_without_request(due, error.code, error.message, services)
    return await services.fetcher.fetch(replace(request, keys=keyring))


async def record_visit(
    due: DueFeed,
    outcome: Outcome,
    services: FeedServices,
    *,
    conditional: bool,
    by: WorkerId | None = None,
) -> CommitResult:
    """Archive, read and commit an outcome, whoever made the request. `by` names a fetcher."""
    try:
        archived = await archive_body(due.feed, outcome, services)
    except DatabaseRefused:
        if await is_still_claimed(due, services):
            raise
        return ClaimLost()  # the feed was deleted for good meanwhile, and this visit with it
    document = await read_body(due, outcome, archived, services)
    now = services.clock.now()
    finished = FinishedVisit(due, outcome, archived, document, conditional, now, by)
    result = await commit_visit(finished, services)
    if isinstance(result, DatabaseRefused) and document is not None:
        # The database refuses the content of the document. The visit itself can be stored, and
        # must be: otherwise the feed would be requested again and again.
        unstorable = UnreadableDocument("internal_error", result.message)
        return await commit_visit(finished._replace(read=unstorable), services)
    return result


async def archive_body(
    feed: FeedPk, outcome: Outcome, services: FeedServices
) -> ArchivedBody | None:
    """The first commit: the body as served, also an error page, which may explain the error."""
    if not has_body(outcome.exchange.answer):
        return None
    truncated, error = False, None
    if isinstance(outcome, Failed):
        truncated, error = outcome.truncated, outcome.code
    fetch_id = FetchId(str(uuid7()))
    raw = raw_fetch_of(outcome.exchange, feed, fetch_id, truncated=truncated, error=error)
    with span("archive") as archiving:
        archived = await services.commits.archive(raw)
        archiving.tell(describe_archive, raw)
        if isinstance(archived, DatabaseRefused):
            raise archived
    return archived


async def is_still_claimed(due: DueFeed, services: FeedServices) -> bool:
    """Asked after the database refused a visit: a feed that was deleted for good takes no rows."""
    async with services.database.write() as tx:
        claims = await claim_rows.lock_claimed_feeds(tx, [due.feed], to_micros(tx.now))
    claim = claims.get(due.feed)
    return claim is not None and claim.fence == due.fence


async def read_body(
    due: DueFeed, outcome: Outcome, archived: ArchivedBody | None, services: FeedServices
) -> ReadResult | None:
    if not isinstance(outcome, Fetched) or archived is None:
        return None
    if archived.deaths >= services.rules.parser_deaths_allowed:
        return UnreadableDocument("quarantined", "this very document killed its parser before")
    document_hash = due.document_hash.hex() if due.document_hash else None
    return await parse_answer(
        outcome.exchange.answer, due.feed_id, due.identity, services, known_document=document_hash
    )


async def parse_answer(
    answer: HttpAnswer,
    feed_id: FeedId,
    identity: dict[str, Any] | None,
    services: FeedServices,
    *,
    known_document: str | None = None,
) -> ReadResult:
    """Parse in a process that can be killed. The document `known_document` is not read again."""
    job = parse_job_of(
        answer.url, answer.response_headers, feed_id, identity, known_document=known_document
    )
    with span("parse") as parsing:
        document = await read_document(services.parsers, job, answer.body, services.reading)
        parsing.tell(describe_reading, document, len(answer.body))
    return document


async def commit_visit(finished: FinishedVisit, services: FeedServices) -> CommitResult:
    """The second commit: everything that the visit has brought."""
    with span("merge") as merging:
        result = await services.commits.commit(finished)
        merging.tell(describe_merge, result)
    return result


async def record_mishap(due: DueFeed, error: Exception, services: FeedServices) -> CommitResult:
    """Record a mistake of ours like a failure of the feed, so that it does not repeat at once."""
    detail = f"{type(error).__name__}: {error}"
    outcome = _outcome_without_request(due, "internal_error", detail, services)
    now = services.clock.now()
    return await commit_visit(FinishedVisit(due, outcome, None, None, False, now), services)


def _outcome_without_request(
    due: DueFeed, code: str, detail: str, services: FeedServices
) -> Failed:
    answer = HttpAnswer(due.url, None, (), (), b"", 0.0, None, code, detail)
    return Failed(Exchange(due.url, services.clock.now(), answer), code, detail)
