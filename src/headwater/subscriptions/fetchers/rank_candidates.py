"""Rank candidates for a source, and decide whether the winner is certain yet."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from headwater.core.values.ids import FetcherId


@dataclass(frozen=True, slots=True)
class BroadcastPolicy:
    """Seconds for the whole question and for each fetcher; how many are asked, and at once."""

    timeout: float = 60.0
    answer_timeout: float = 5.0
    max_fetchers: int = 100
    at_once: int = 32


@dataclass(frozen=True, slots=True)
class CandidateFetcher:
    """A fetcher that is asked. The priority is from our own table, never from its answer."""

    fetcher_id: FetcherId
    priority: int


@dataclass(frozen=True, slots=True)
class Ranking:
    """The ranking so far. `winner` and `tied` are empty while it is not certain.

    `tied` has all fetchers at the top, the winner first, when there are several; `able` all that
    answered yes so far, best first.
    """

    is_certain: bool
    winner: FetcherId | None
    tied: tuple[FetcherId, ...]
    able: tuple[CandidateFetcher, ...]


def rank_candidates(candidates: Iterable[CandidateFetcher]) -> tuple[CandidateFetcher, ...]:
    """Best first: the highest priority, and among equals the oldest."""
    return tuple(sorted(candidates, key=lambda each: (-each.priority, each.fetcher_id)))


def decide_winner(asked: Iterable[CandidateFetcher], replies: Mapping[FetcherId, bool]) -> Ranking:
    """Decide who wins. `replies` has those that are done: True for yes, False for no or silence.

    A fetcher below the best yes cannot change the result, so it is not waited for. One of the same
    priority can: it would make a tie.
    """
    order = rank_candidates(asked)
    able = tuple(each for each in order if replies.get(each.fetcher_id, False))
    waiting = [each for each in order if each.fetcher_id not in replies]
    if waiting and not (able and waiting[0].priority < able[0].priority):
        return Ranking(False, None, (), able)
    if not able:
        return Ranking(True, None, (), ())
    top = tuple(each.fetcher_id for each in able if each.priority == able[0].priority)
    return Ranking(True, top[0], top if len(top) > 1 else (), able)
