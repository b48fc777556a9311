"""Visit one feed, top to bottom: request, archive, read, commit. The recipe of the product."""

import math
from dataclasses import replace
from functools import partial

from uuid_utils import uuid7

from headwater.core.concurrency import Batcher
from headwater.core.engine import Engine
from headwater.core.errors import DatabaseRefused, SecretUnreadable, TooSoon
from headwater.core.telemetry.trace import span
from headwater.core.values.ids import FeedPk, FetchId, WorkerId
from headwater.core.values.instant import to_micros
from headwater.core.values.response import Exchange, HttpAnswer, Validators, header
from headwater.core.values.url import host_of
from headwater.feeds.archive import ArchivedBody, archive_group
from headwater.feeds.commit_visits import ClaimLost, CommitResult, commit_visits, prepare_visit
from headwater.feeds.fetch.outcome import Failed, Fetched, Outcome, Throttled
from headwater.feeds.fetch.raw_fetch import has_body, raw_fetch_of
from headwater.feeds.fetch.request_feed import FetchRequest, fetch_url
from headwater.feeds.judge_visit import FinishedVisit
from headwater.feeds.merge.read_document import (
    ParseJob,
    ReadResult,
    UnreadableDocument,
    read_document,
)
from headwater.feeds.schedule.due import DueFeed, wants_whole_document
from headwater.feeds.visit_trace import (
    describe_archive,
    describe_merge,
    describe_reading,
    describe_request,
    describe_schedule,
)
from headwater.feeds.worker import claim_rows
from headwater.subscriptions.seal_credentials import open_keyring

_BUSY_HOST_SECONDS = 0.25
"""How often we look again at a host whose places are all taken."""

_ARCHIVED_TOGETHER = 96

_PATIENCE_SECONDS = 60.0
"""How long a visit or an adding waits for a host's turn before it gives way."""

TOO_MANY_REQUESTS = 429


class Visitor:
    """All visits of this process. Each makes two commits, and shares both with its neighbours."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        # Smaller groups than the other commit's: parsing waits for them.
        self._archive = Batcher(partial(archive_group, engine), most=_ARCHIVED_TOGETHER)
        self._remember = Batcher(partial(commit_visits, engine))

    async def visit(self, due: DueFeed) -> CommitResult:
        with span("schedule") as scheduled:
            question = self.question(due)
            scheduled.tell(describe_schedule, due, self._engine.worker)
        outcome = await self._asked(due, question)
        return await self.conclude(due, outcome, conditional=question.is_conditional)

    async def conclude(
        self, due: DueFeed, outcome: Outcome, *, conditional: bool, by: WorkerId | None = None
    ) -> CommitResult:
        """Archive, read, remember: the same for whoever asked. `by` is named when it was not us."""
        try:
            archived = await self.keep(due.feed, outcome)
        except DatabaseRefused:
            if await self.is_still_ours(due):
                raise
            return ClaimLost()  # somebody has deleted the feed for good, and this visit with it
        document = await self.read(due, outcome, archived)
        now = self._engine.clock.now()
        finished = FinishedVisit(due, outcome, archived, document, conditional, now, by)
        remembered = await self.remember(finished)
        if isinstance(remembered, DatabaseRefused) and document is not None:
            # What the document says cannot be stored. That it was visited can, and must be:
            # otherwise the feed would be asked again and again.
            unstorable = UnreadableDocument("internal_error", remembered.message)
            return await self.remember(replace(finished, read=unstorable))
        return remembered

    async def is_still_ours(self, due: DueFeed) -> bool:
        """Asked where the database refused a visit: what was deleted for good takes nothing."""
        now = to_micros(self._engine.clock.now())
        async with self._engine.database.write() as tx:
            held = (await claim_rows.lock_claimed_feeds(tx, [due.feed], now)).get(due.feed)
        return held is not None and held.fence == due.fence

    def question(self, due: DueFeed) -> FetchRequest:
        now = to_micros(self._engine.clock.now())
        whole = wants_whole_document(due, now, self._engine.rules.whole_fetch_days)
        return FetchRequest(due.url, Validators() if whole else due.validators, due.verify_tls)

    async def _asked(self, due: DueFeed, question: FetchRequest) -> Outcome:
        """A private feed whose secrets do not open is not asked at all: that is our own trouble."""
        if not due.has_credentials:
            return await self.fetch(question)
        try:
            keys = await open_keyring(self._engine, due.feed, due.url)
        except SecretUnreadable as trouble:
            return self._unasked(due, trouble.code, trouble.message)
        return await self.fetch(replace(question, keys=keys))

    async def fetch(self, question: FetchRequest) -> Outcome:
        engine = self._engine
        with span("request") as asked:
            outcome = await fetch_url(
                question, engine.fetch, engine.web, engine.clock, self.pass_by
            )
            asked.tell(describe_request, question, outcome)
        if isinstance(outcome, Throttled):
            self._let_rest(outcome)
        return outcome

    async def keep(self, feed: FeedPk, outcome: Outcome) -> ArchivedBody | None:
        """The body as served, whatever it is: an error page may be all that explains an error."""
        if not has_body(outcome.exchange.answer):
            return None
        cut, error = False, None
        if isinstance(outcome, Failed):
            cut, error = outcome.truncated, outcome.code
        fetch_id = FetchId(str(uuid7()))
        raw = raw_fetch_of(outcome.exchange, feed, fetch_id, truncated=cut, error=error)
        with span("archive") as archiving:
            archived = await self._archive.join(raw)
            archiving.tell(describe_archive, raw)
            if isinstance(archived, DatabaseRefused):
                raise archived
        return archived

    async def read(
        self, due: DueFeed, outcome: Outcome, archived: ArchivedBody | None
    ) -> ReadResult | None:
        if not isinstance(outcome, Fetched) or archived is None:
            return None
        answer = outcome.exchange.answer
        if archived.deaths >= self._engine.rules.parser_deaths_allowed:
            return UnreadableDocument("quarantined", "this very document killed its parser before")
        job = ParseJob(
            url=answer.url,
            content_encoding=header(answer.response_headers, "content-encoding"),
            content_type=header(answer.response_headers, "content-type"),
            feed_id=due.feed_id,
            identity=due.identity,
            known_document=due.document_hash.hex() if due.document_hash else None,
        )
        return await self.parse(job, answer.body)

    async def parse(self, job: ParseJob, body: bytes) -> ReadResult:
        with span("parse") as parsing:
            document = await read_document(self._engine.parsers, job, body, self._engine.reading)
            parsing.tell(describe_reading, document, len(body))
        return document

    async def remember(self, finished: FinishedVisit) -> CommitResult:
        with span("merge") as merging:
            remembered = await self._remember.join(prepare_visit(self._engine, finished))
            merging.tell(describe_merge, remembered)
        return remembered

    async def close(self) -> None:
        await self._archive.close()
        await self._remember.close()

    async def record_mishap(self, due: DueFeed, trouble: Exception) -> CommitResult:
        """A mistake of ours, written down like a failure of the feed, lest it repeats at once."""
        now = self._engine.clock.now()
        detail = f"{type(trouble).__name__}: {trouble}"
        outcome = self._unasked(due, "internal_error", detail)
        return await self.remember(FinishedVisit(due, outcome, None, None, False, now))

    def _unasked(self, due: DueFeed, code: str, detail: str) -> Failed:
        answer = HttpAnswer(due.url, None, (), (), b"", 0.0, None, code, detail)
        return Failed(Exchange(due.url, self._engine.clock.now(), answer), code, detail)

    async def take_turn(self, host: str, *, passing: bool = False) -> None:
        """Waits until the host may be asked, and takes that turn; whoever took it ends it.

        Nobody is kept waiting for long: a host that rests is told with the time it needs.
        """
        turns, clock = self._engine.turns, self._engine.clock
        if not turns.knows(host):  # names that share an address share its turns, from the first on
            turns.lives_at(host, await self._engine.web.address_of(host))
        patience = clock.monotonic() + _PATIENCE_SECONDS
        while (wait := turns.wait_for(host, clock.monotonic(), passing=passing)) > 0:
            pause = _BUSY_HOST_SECONDS if math.isinf(wait) else wait
            if clock.monotonic() + pause > patience:
                raise TooSoon(
                    "This host was asked a moment ago, or asked for a rest.",
                    host=host,
                    retry_after_sec=_PATIENCE_SECONDS if math.isinf(wait) else wait,
                )
            await clock.sleep(pause)
        turns.start(host, clock.monotonic())

    async def pass_by(self, host: str) -> None:
        """A redirect leads to another host: its pace counts too, though not its concurrency.

        A visit that is led back to its own host would wait for the place that it has itself.
        """
        await self.take_turn(host, passing=True)
        self._engine.turns.finish(host, self._engine.clock.monotonic(), None)

    def _let_rest(self, throttled: Throttled) -> None:
        """Whoever said 429, or how long, rests as a whole; a bare 503 is one feed's trouble."""
        answer, engine = throttled.exchange.answer, self._engine
        seconds = throttled.retry_after
        if seconds is None and answer.status == TOO_MANY_REQUESTS:
            seconds = engine.schedule.initial_interval
        if seconds:
            engine.turns.rest(host_of(answer.url), engine.clock.monotonic() + seconds)
