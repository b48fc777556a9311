"""Records of events, and the parameters by which a reader says where it goes on."""

from typing import Annotated, Any

from fastapi import Header, Query
from pydantic import Field

from headwater.entrypoints.api.records import Moment, NounRecord

LARGEST_SEQ = 2**63 - 1

After = Annotated[int | None, Query(ge=0, le=LARGEST_SEQ, description="The last number you have.")]
LastEventId = Annotated[str | None, Header()]


class EventRecord(NounRecord):
    seq: int
    id: str = Field(
        validation_alias="event_id", description="The same in every delivery of this event."
    )
    type: str
    at: Moment
    feed_id: str | None
    payload: dict[str, Any]


class EventPage(NounRecord):
    """Read on with `after` = `next`; nothing before it is ever added later."""

    events: list[EventRecord]
    last_seq: int
    next: int
