"""What callers send about releases: which episode one is, and how far back to collect."""

from datetime import datetime
from decimal import Decimal
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, StrictInt

from headwater.collect.show import MOST_EPISODES, MOST_SEASON
from headwater.collect.slot import Slot
from headwater.entrypoints.api.models import Strict
from headwater.entrypoints.api.moments import micros_of
from headwater.entrypoints.api.refusals import BadMoment
from headwater.values.instant import from_micros

MOST_NAMED = 500
"""Episodes that one request may name."""


def _number(given: Any) -> Decimal:
    """3 and 12.5, as numbers: halves are the only fractions there are."""
    if isinstance(given, bool) or not isinstance(given, int | float):
        raise ValueError("must be a number")
    number = Decimal(str(given))
    if not 0 <= number <= MOST_EPISODES or number * 2 % 1:
        raise ValueError(f"must be from 0 to {MOST_EPISODES}, whole or a half")
    return number


def _moment(given: object) -> datetime:
    try:
        micros = micros_of(given if isinstance(given, str) else "", "since")
    except BadMoment as trouble:
        raise ValueError("must be an RFC 3339 time with a zone") from trouble
    assert micros is not None, "something was given"
    return from_micros(micros)


Number = Annotated[Decimal, BeforeValidator(_number, json_schema_input_type=float)]
Since = Annotated[
    datetime,
    BeforeValidator(_moment, json_schema_input_type=str),
    Field(description="RFC 3339; without it, all that is kept."),
]


class TakeIn(Strict):
    """Which episodes it is of, where its title does not say, or says it wrongly."""

    season: Annotated[StrictInt, Field(ge=0, le=MOST_SEASON)] | None = None
    episodes: Annotated[list[Number], Field(max_length=MOST_NAMED)] = Field(default=[])

    def slots(self, usual_season: int) -> list[Slot]:
        season = usual_season if self.season is None else self.season
        return [Slot(season, number) for number in self.episodes]


class BackfillIn(Strict):
    """How far back to collect."""

    since: Since | None = None
