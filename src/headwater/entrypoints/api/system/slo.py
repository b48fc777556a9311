"""Service levels over HTTP: what Headwater promises of itself, beside what it measured."""

from typing import Annotated

from fastapi import Query

from headwater.entrypoints.api.dependencies import App
from headwater.entrypoints.api.router import Router
from headwater.entrypoints.api.system.database_metrics import service_targets
from headwater.entrypoints.api.system.slo_records import ServiceLevelRecord, ServiceLevelsRecord
from headwater.statistics.service_levels import service_levels
from headwater.statistics.subscriptions import parse_days_window

USUAL_DAY = "1d"

router = Router(tags=["statistics"])


@router.get("/slo", right="read")
async def show_service_levels(
    app: App,
    window: Annotated[
        str, Query(max_length=16, description="Whole days in UTC up to now, such as 7d.")
    ] = USUAL_DAY,
    worst: Annotated[int, Query(ge=0, le=100, description="How many feeds to name.")] = 5,
) -> ServiceLevelsRecord:
    """Speed, failures and freshness beside what is promised of them."""
    days = parse_days_window(window, app.settings.statistics_days)
    levels = await service_levels(app.database, service_targets(app.settings), days, worst=worst)
    return ServiceLevelsRecord(
        now=app.clock.now(),
        met=all(level.met is not False for level in levels),
        levels=[ServiceLevelRecord.of(level) for level in levels],
    )
