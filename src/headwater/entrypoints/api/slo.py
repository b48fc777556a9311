"""What Headwater promises of itself, over HTTP: each with its target, its value and the worst."""

from typing import Annotated

from fastapi import APIRouter, Query
from starlette.responses import Response

from headwater.entrypoints.api.asking import REFUSALS, At, told
from headwater.entrypoints.api.records import Moment, Record
from headwater.entrypoints.figures import promises
from headwater.service_levels import Level, Name, Unit, service_levels
from headwater.subscribe.statistics import days_of
from headwater.values.url import redacted

router = APIRouter(tags=["statistics"], responses=REFUSALS)

USUAL_DAY = "1d"


class OffenderRecord(Record):
    feed_id: str
    url: str
    value: float
    detail: str


class LevelRecord(Record):
    """`measured` fetches or feeds, of which so many are `beyond` the target."""

    name: Name
    promise: str
    unit: Unit
    target: float
    value: float | None
    met: bool | None
    window: str
    measured: int
    beyond: int
    worst: list[OffenderRecord]

    @classmethod
    def of(cls, level: Level) -> "LevelRecord":
        return cls(
            name=level.name,
            promise=level.promise,
            unit=level.unit,
            target=level.target,
            value=level.value,
            met=level.met,
            window=level.window,
            measured=level.measured,
            beyond=level.beyond,
            worst=[
                OffenderRecord(
                    feed_id=each.feed_id,
                    url=redacted(each.url),
                    value=each.value,
                    detail=each.detail,
                )
                for each in level.worst
            ],
        )


class LevelsRecord(Record):
    """`met` is false as soon as one promise is broken."""

    now: Moment
    met: bool
    levels: list[LevelRecord]


@router.get("/slo", response_model=LevelsRecord)
async def show_service_levels(
    at: At,
    window: Annotated[
        str, Query(max_length=16, description="Whole days in UTC up to now, such as 7d.")
    ] = USUAL_DAY,
    worst: Annotated[int, Query(ge=0, le=100, description="How many feeds to name.")] = 5,
) -> Response:
    """Speed, failures and freshness beside what is promised of them."""
    days = days_of(window, at.settings.statistics_days)
    levels = await service_levels(at.engine, promises(at.settings), days, worst=worst)
    return told(
        LevelsRecord(
            now=at.engine.clock.now(),
            met=all(level.met is not False for level in levels),
            levels=[LevelRecord.of(level) for level in levels],
        )
    )
