"""Records of the API → messages: field by field, because both have the same names."""

from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from google.protobuf.message import Message
from pydantic import BaseModel

from headwater.announce.parcel import body_of
from headwater.entrypoints.api.journal import EventPage, EventRecord
from headwater.entrypoints.rpc import headwater_pb2 as pb
from headwater.errors import HeadwaterError
from headwater.ports import Parcel
from headwater.values.instant import from_micros

M = TypeVar("M", bound=Message)


class TooLarge(HeadwaterError):
    """One record that is larger than a message may be."""

    code = "message_too_large"
    status = 413


def filled(kind: type[M], record: BaseModel) -> M:
    message: M = kind(**_fields(record))
    return message


def _fields(record: BaseModel) -> dict[str, Any]:
    """What is null is left out: a field that is not there."""
    return {name: _plain(value) for name, value in record if value is not None}


def _plain(value: Any) -> Any:
    match value:
        case BaseModel():
            return _fields(value)
        case list():
            return [_plain(each) for each in value]
        case _:
            return value


def events_of(page: EventPage) -> pb.ListEventsResponse:
    events = [_event(each) for each in page.events]
    return pb.ListEventsResponse(events=events, last_seq=page.last_seq, next=page.next)


def _event(told: EventRecord) -> pb.Event:
    return pb.Event(
        seq=told.seq,
        id=told.id,
        type=told.type,
        at=told.at,
        feed_id=told.feed_id,
        body=body_of(told.seq, told.id, told.type, told.at, told.feed_id, told.payload),
    )


def event_of(parcel: Parcel) -> pb.Event:
    return pb.Event(
        seq=parcel.seq,
        id=parcel.event_id,
        type=parcel.type,
        at=from_micros(parcel.at),
        feed_id=parcel.feed_id,
        body=parcel.body,
    )


async def fitting(size: int, most_bytes: int, ask: Callable[[int], Awaitable[M]]) -> M:
    """A page that fits into one message; asked again for fewer while it does not."""
    while (found := (page := await ask(size)).ByteSize()) > most_bytes:
        if size == 1:
            raise TooLarge(
                f"One record has {found} bytes; a message may have {most_bytes}."
                " HEADWATER_GRPC_MAX_MESSAGE_BYTES sets that.",
                bytes=found,
            )
        size = max(1, min(size - 1, size * most_bytes // found))
    return page
