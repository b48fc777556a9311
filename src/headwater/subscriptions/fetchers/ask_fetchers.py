"""Ask fetchers who can handle a source: all at once, and the best who can is chosen."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from headwater.core.errors import BroadcastFailed, DatabaseError, NoCapableFetcher, SecretUnreadable
from headwater.core.telemetry.log import get_logger
from headwater.core.values.ids import FetcherId
from headwater.core.values.url import redacted
from headwater.subscriptions.fetchers import fetcher_rows
from headwater.subscriptions.fetchers.address import about_fetcher
from headwater.subscriptions.fetchers.builtin import BuiltinFetcher
from headwater.subscriptions.fetchers.fetcher import Fetcher, rank_fetchers
from headwater.subscriptions.fetchers.ports import FetcherAnswer
from headwater.subscriptions.fetchers.rank_candidates import (
    CandidateFetcher,
    Ranking,
    decide_winner,
)
from headwater.subscriptions.services import RegistryServices

logger = get_logger("assigning")
RETRY_DATABASE_SECONDS = 5

_OUR_SET_UP = frozenset({"secret_unreadable", "not_installed"})
"""Codes of silence that only an operator can mend."""
_TIMED_OUT = FetcherAnswer("silent", "timeout", "no answer within the time for all of them")


@dataclass(frozen=True, slots=True)
class ChosenFetcher:
    """The fetcher that was chosen. `tied` has all fetchers at the top, the winner first, when
    there are several; `able` all that answered yes before the choice was certain, best first.
    """

    winner: FetcherId
    tied: tuple[FetcherId, ...]
    able: tuple[CandidateFetcher, ...]
    asked: tuple[FetcherId, ...]


async def broadcast_can_handle(
    services: RegistryServices,
    source_url: str,
    source_type: str,
    timeout: float | None = None,  # noqa: ASYNC109 -- our own clock says how long 60 s are
    target: FetcherId | None = None,
) -> list[tuple[FetcherId, int]]:
    """The fetchers that can, with our own priority of each, best first. Slow ones that cannot win
    are not waited for."""
    broadcast = await _run_broadcast(services, source_url, source_type, timeout, target)
    return [(each.fetcher_id, each.priority) for each in broadcast.ranking.able]


async def choose_fetcher(
    services: RegistryServices,
    source_url: str,
    source_type: str,
    timeout: float | None = None,  # noqa: ASYNC109 -- our own clock says how long 60 s are
    target: FetcherId | None = None,
) -> ChosenFetcher:
    """The best fetcher of those that can; NoCapableFetcher when none can.

    `target` asks that one alone. BroadcastFailed when no fetcher could even be asked.
    """
    broadcast = await _run_broadcast(services, source_url, source_type, timeout, target)
    shown, ranking = redacted(source_url), broadcast.ranking
    if ranking.winner is None:
        logger.info("no_capable_fetcher", source_url=shown, source_type=source_type, target=target)
        raise _no_capable_fetcher(target, broadcast)
    logger.info("fetcher_chosen", source_url=shown, fetcher=ranking.winner, tied=list(ranking.tied))
    return ChosenFetcher(
        ranking.winner, ranking.tied, ranking.able, tuple(each.id for each in broadcast.asked)
    )


@dataclass(frozen=True, slots=True)
class _Question:
    source_url: str
    source_type: str

    @property
    def shown_url(self) -> str:
        """Without secrets: no fetcher outside sees one before the source is assigned to it."""
        return redacted(self.source_url)


class _Broadcast:
    """One question to many fetchers. Requests under way are dropped once the winner is certain."""

    def __init__(
        self,
        services: RegistryServices,
        question: _Question,
        asked: Sequence[Fetcher],
        sealed: Mapping[FetcherId, bytes],
    ) -> None:
        self._services, self._question, self.asked, self._sealed = services, question, asked, sealed
        self._builtins = {builtin.base_url: builtin for builtin in services.builtins}
        self._candidates = [CandidateFetcher(each.id, each.priority) for each in asked]
        self._turns = asyncio.Semaphore(services.broadcast.at_once)
        self.answers: dict[FetcherId, FetcherAnswer] = {}

    @property
    def ranking(self) -> Ranking:
        replies = {each: answer.verdict == "yes" for each, answer in self.answers.items()}
        return decide_winner(self._candidates, replies)

    async def run(self, seconds: float) -> None:
        """Ask the fetchers in this process first: that costs nothing, and may be enough."""
        for fetcher in self.asked:
            if fetcher.is_builtin:
                self._note_answer(fetcher, self._ask_in_process(fetcher))
        if self.ranking.is_certain:
            return
        ends_at = self._services.clock.monotonic() + seconds
        limit = asyncio.create_task(self._services.clock.sleep(seconds))
        asking = {
            asyncio.create_task(self._ask(fetcher, ends_at)): fetcher
            for fetcher in self.asked
            if not fetcher.is_builtin
        }
        try:
            await self._wait_until_certain(asking, limit)
        finally:
            for task in (limit, *asking):
                task.cancel()
            await asyncio.gather(limit, *asking, return_exceptions=True)

    async def _wait_until_certain(
        self, asking: Mapping["asyncio.Task[FetcherAnswer]", Fetcher], limit: "asyncio.Task[None]"
    ) -> None:
        waiting = set(asking)
        while not self.ranking.is_certain:
            done, _ = await asyncio.wait({limit, *waiting}, return_when=asyncio.FIRST_COMPLETED)
            for task in waiting & done:
                self._note_answer(asking[task], task.result())
            waiting -= done
            if limit in done:
                for task in waiting:
                    self._note_answer(asking[task], _TIMED_OUT)
                return

    async def _ask(self, fetcher: Fetcher, ends_at: float) -> FetcherAnswer:
        """Few at once, the best first. Each has a time limit of its own, within the time left."""
        try:
            key = self._open_key(fetcher)
        except SecretUnreadable as trouble:
            return FetcherAnswer("silent", trouble.code, trouble.message)
        async with self._turns:
            left = ends_at - self._services.clock.monotonic()
            return await self._services.fetchers.can_handle(
                fetcher.base_url,
                key,
                self._question.shown_url,
                self._question.source_type,
                min(left, self._services.broadcast.answer_timeout),
            )

    def _open_key(self, fetcher: Fetcher) -> bytes | None:
        sealed = self._sealed.get(fetcher.id)
        if sealed is None:
            return None
        return self._services.vault.open(sealed, about=about_fetcher(fetcher.name))

    def _ask_in_process(self, fetcher: Fetcher) -> FetcherAnswer:
        builtin = self._builtins.get(fetcher.base_url)
        if builtin is None:
            return FetcherAnswer("silent", "not_installed", f"{fetcher.base_url} is not installed")
        return _ask_builtin(builtin, self._question)

    def _note_answer(self, fetcher: Fetcher, answer: FetcherAnswer) -> None:
        self.answers[fetcher.id] = answer
        _level_of(answer)(
            "fetcher_silent" if answer.verdict == "silent" else "fetcher_answered",
            fetcher=fetcher.id,
            fetcher_name=fetcher.name,
            can_handle=answer.verdict == "yes",
            code=answer.code,
            detail=answer.detail,
            source_url=self._question.shown_url,
        )


def _level_of(answer: FetcherAnswer) -> Callable[..., Any]:
    if answer.verdict != "silent":
        return logger.debug
    return logger.error if answer.code in _OUR_SET_UP else logger.warning


def _ask_builtin(builtin: BuiltinFetcher, question: _Question) -> FetcherAnswer:
    try:
        can_handle: object = builtin.handles(question.source_url, question.source_type)
    except Exception as trouble:  # noqa: BLE001 -- a plug-in may raise anything
        return FetcherAnswer("silent", "plugin_error", f"{type(trouble).__name__}: {trouble}")
    if not isinstance(can_handle, bool):
        return FetcherAnswer("silent", "bad_answer", "it answered neither true nor false")
    return FetcherAnswer("yes", "yes") if can_handle else FetcherAnswer("no", "no")


async def _run_broadcast(
    services: RegistryServices,
    source_url: str,
    source_type: str,
    seconds: float | None,
    target: FetcherId | None,
) -> "_Broadcast":
    try:
        asked, sealed = await _fetchers_to_ask(services, target)
    except BroadcastFailed as failed:
        logger.error("broadcast_failed", source_url=redacted(source_url), detail=failed.message)
        raise
    broadcast = _Broadcast(services, _Question(source_url, source_type), asked, sealed)
    await broadcast.run(services.broadcast.timeout if seconds is None else seconds)
    return broadcast


async def _fetchers_to_ask(
    services: RegistryServices, target: FetcherId | None
) -> tuple[list[Fetcher], Mapping[FetcherId, bytes]]:
    """The fetchers to ask, best first, and the sealed keys that sign the requests."""
    try:
        async with services.database.read() as view:
            enabled = rank_fetchers(list(await fetcher_rows.list_fetchers(view, enabled_only=True)))
            sealed = await fetcher_rows.list_signing_keys(view)
    except DatabaseError as trouble:
        logger.error("fetchers_unknown", detail=trouble.message)
        raise BroadcastFailed(
            "The fetchers cannot be looked up: the database does not answer.",
            retry_after_sec=RETRY_DATABASE_SECONDS,
        ) from trouble
    fetchers = [each for each in enabled if target in (None, each.id)]
    _check_askable(fetchers, target)
    return _limit_fetchers(fetchers, services.broadcast.max_fetchers), sealed


def _limit_fetchers(fetchers: Sequence[Fetcher], max_outside: int) -> list[Fetcher]:
    """Those of the highest priority.

    All that run in this process stay: asking them costs nothing.
    """
    outside = [fetcher.id for fetcher in fetchers if not fetcher.is_builtin]
    if len(outside) > max_outside:
        logger.warning("too_many_fetchers", enabled=len(outside), asked=max_outside)
    left_out = set(outside[max_outside:])
    return [fetcher for fetcher in fetchers if fetcher.id not in left_out]


def _check_askable(fetchers: Sequence[Fetcher], target: FetcherId | None) -> None:
    if not fetchers and target is not None:
        raise BroadcastFailed(
            f"Fetcher {target} does not exist or is not enabled", fetcher_id=target
        )
    if not fetchers:
        raise BroadcastFailed("No fetcher is enabled")
    for fetcher in fetchers:
        if not fetcher.base_url.strip():
            raise BroadcastFailed(f"Fetcher {fetcher.id} has no base_url", fetcher_id=fetcher.id)


def _no_capable_fetcher(target: FetcherId | None, broadcast: "_Broadcast") -> NoCapableFetcher:
    asked = [
        {"fetcher_id": fetcher_id, "answer": answer.verdict, "code": answer.code}
        for fetcher_id, answer in broadcast.answers.items()
    ]
    if target is None:
        return NoCapableFetcher("No fetcher can handle this subscription request", asked=asked)
    return NoCapableFetcher(
        f"Fetcher {target} cannot handle this subscription request",
        asked=asked,
        fetcher_id=target,
    )
