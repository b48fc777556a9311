"""What Headwater promises of itself, over HTTP: each with its target, its value and the worst."""

from typing import Annotated

from fastapi import Query
from starlette.responses import Response

from headwater.core.values.url import redacted
from headwater.entrypoints.api.dependencies import RouteContext, json_response
from headwater.entrypoints.api.records import Moment, Record
from headwater.entrypoints.api.router import Router
from headwater.entrypoints.api.system.database_metrics import promises
from headwater.statistics.service_levels import ServiceLevel, ServiceLevelName, Unit, service_levels
from headwater.statistics.subscriptions import parse_days_window

router = Router(tags=["statistics"])

USUAL_DAY = "1d"


class OffenderRecord(Record):
    feed_id: str
    url: str
    value: float
    detail: str


class ServiceLevelRecord(Record):
    """`measured` fetches or feeds, of which so many are `beyond` the target."""

    name: ServiceLevelName
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
    def of(cls, level: ServiceLevel) -> "ServiceLevelRecord":
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


class ServiceLevelsRecord(Record):
    """`met` is false as soon as one promise is broken."""

    now: Moment
    met: bool
    levels: list[ServiceLevelRecord]


@router.get("/slo", right="read", response_model=ServiceLevelsRecord)
async def show_service_levels(
    at: RouteContext,
    window: Annotated[
        str, Query(max_length=16, description="Whole days in UTC up to now, such as 7d.")
    ] = USUAL_DAY,
    worst: Annotated[int, Query(ge=0, le=100, description="How many feeds to name.")] = 5,
) -> Response:
    """Speed, failures and freshness beside what is promised of them."""
    days = parse_days_window(window, at.settings.statistics_days)
    levels = await service_levels(at.database, promises(at.settings), days, worst=worst)
    return json_response(
        ServiceLevelsRecord(
            now=at.clock.now(),
            met=all(level.met is not False for level in levels),
            levels=[ServiceLevelRecord.of(level) for level in levels],
        )
    )
