"""Records of service levels: each promise with its target, its value and the worst feeds."""

from typing import Annotated

from pydantic import AfterValidator

from headwater.core.values.url import redacted
from headwater.entrypoints.api.records import Moment, NounRecord, Record
from headwater.statistics.service_levels import ServiceLevelName, Unit


class OffenderRecord(NounRecord):
    feed_id: str
    url: Annotated[str, AfterValidator(redacted)]
    value: float
    detail: str


class ServiceLevelRecord(NounRecord):
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


class ServiceLevelsRecord(Record):
    """`met` is false as soon as one promise is broken."""

    now: Moment
    met: bool
    levels: list[ServiceLevelRecord]
