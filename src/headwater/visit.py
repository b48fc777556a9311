"""One visit to one feed, top to bottom: ask, archive, read, remember. The recipe of the product."""

import math
from dataclasses import replace
from functools import partial

from uuid_utils import uuid7

from headwater.archive import Archived, archive_group
from headwater.engine import Engine
from headwater.errors import Refused
from headwater.fetch.outcome import Failed, Fetched, Outcome
from headwater.fetch.raw import raw_fetch_of
from headwater.fetch.steps import Ask, ask
from headwater.merge.reading import Job, Read, Unreadable
from headwater.merge.steps import read
from headwater.remember import Remembered, remember_group
from headwater.schedule.due import Due, asks_whole
from headwater.settle import Finished
from headwater.together import Together
from headwater.values.ids import FeedPk, FetchId
from headwater.values.instant import to_micros
from headwater.values.response import Validators, header

_BUSY_HOST_SECONDS = 0.25
"""How often we look again at a host whose places are all taken."""


class Visits:
    """All visits of this process. Each makes two commits, and shares both with its neighbours."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._archive = Together(partial(archive_group, engine))
        self._remember = Together(partial(remember_group, engine))

    async def visit(self, due: Due) -> Remembered:
        question = self.question(due)
        outcome = await self.fetch(question)
        archived = await self.keep(due.feed, outcome)
        document = await self.read(due, outcome, archived)
        conditional = question.validators != Validators()
        now = self._engine.clock.now()
        finished = Finished(due, outcome, archived, document, conditional, now)
        remembered = await self.remember(finished)
        if isinstance(remembered, Refused) and document is not None:
            # What the document says cannot be stored. That it was visited can, and must be:
            # otherwise the feed would be asked again and again.
            unstorable = Unreadable("internal_error", remembered.message)
            return await self.remember(replace(finished, read=unstorable))
        return remembered

    def question(self, due: Due) -> Ask:
        now = to_micros(self._engine.clock.now())
        whole = asks_whole(due, now, self._engine.rules.whole_fetch_days)
        return Ask(due.url, Validators() if whole else due.validators, due.verify_tls)

    async def fetch(self, question: Ask) -> Outcome:
        engine = self._engine
        return await ask(question, engine.fetch, engine.web, engine.clock, self._turn_at)

    async def keep(self, feed: FeedPk, outcome: Outcome) -> Archived | None:
        """The body as served, whatever it is: an error page may be all that explains an error."""
        cut, error = False, None
        if isinstance(outcome, Failed):
            cut, error = outcome.truncated, outcome.code
        fetch_id = FetchId(str(uuid7()))
        raw = raw_fetch_of(outcome.exchange, feed, fetch_id, truncated=cut, error=error)
        if raw is None:
            return None
        archived = await self._archive.join(raw)
        if isinstance(archived, Refused):
            raise archived
        return archived

    async def read(self, due: Due, outcome: Outcome, archived: Archived | None) -> Read | None:
        if not isinstance(outcome, Fetched) or archived is None:
            return None
        engine, answer = self._engine, outcome.exchange.answer
        if archived.deaths >= engine.rules.parser_deaths_allowed:
            return Unreadable("quarantined", "this very document killed its parser before")
        job = Job(
            url=answer.url,
            content_encoding=header(answer.response_headers, "content-encoding"),
            content_type=header(answer.response_headers, "content-type"),
            feed_id=due.feed_id,
            identity=due.identity,
            known_document=due.document_hash.hex() if due.document_hash else None,
        )
        return await read(engine.parsers, job, answer.body, engine.reading)

    async def remember(self, finished: Finished) -> Remembered:
        return await self._remember.join(finished)

    async def close(self) -> None:
        await self._archive.close()
        await self._remember.close()

    async def take_turn(self, host: str) -> None:
        """Waits until the host may be asked, and takes that turn; whoever took it ends it."""
        turns, clock = self._engine.turns, self._engine.clock
        while (wait := turns.wait_for(host, clock.monotonic())) > 0:
            await clock.sleep(_BUSY_HOST_SECONDS if math.isinf(wait) else wait)
        turns.start(host, clock.monotonic())

    async def _turn_at(self, host: str) -> None:
        """A redirect leads to another host: its pace counts too, though not its concurrency."""
        await self.take_turn(host)
        self._engine.turns.finish(host, self._engine.clock.monotonic(), None)
