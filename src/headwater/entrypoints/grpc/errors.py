"""Errors of gRPC calls: the error envelope of the API, with a gRPC status."""

from typing import Any, NoReturn

import grpc
import orjson

from headwater.core.errors import BlobDamaged, DatabaseError, HeadwaterError, StorageError
from headwater.core.telemetry.log import get_logger
from headwater.entrypoints.api.errors import error_response, internal_error_response

ERROR_KEY = "headwater-error"
"""Trailing metadata: the code of the error envelope."""
ENVELOPE_KEY = "headwater-envelope-bin"
"""Trailing metadata: the whole envelope as JSON, with its facts, where it is not too long."""
NEXT_KEY = "headwater-next"
"""Trailing metadata of a stream of events, however it ends: go on after this number."""

LONGEST_MESSAGE = 1_000
LONGEST_ENVELOPE = 4_096

_BY_KIND: tuple[tuple[type[HeadwaterError], grpc.StatusCode], ...] = (
    (DatabaseError, grpc.StatusCode.UNAVAILABLE),
    (StorageError, grpc.StatusCode.UNAVAILABLE),
    (BlobDamaged, grpc.StatusCode.DATA_LOSS),
)
_BY_STATUS = {
    400: grpc.StatusCode.INVALID_ARGUMENT,
    401: grpc.StatusCode.UNAUTHENTICATED,
    403: grpc.StatusCode.PERMISSION_DENIED,
    404: grpc.StatusCode.NOT_FOUND,
    409: grpc.StatusCode.FAILED_PRECONDITION,
    410: grpc.StatusCode.NOT_FOUND,
    413: grpc.StatusCode.RESOURCE_EXHAUSTED,
    422: grpc.StatusCode.INVALID_ARGUMENT,
    429: grpc.StatusCode.RESOURCE_EXHAUSTED,
}

CallContext = Any
"""A call under way: `grpc.aio.ServicerContext`."""

logger = get_logger("headwater.rpc")


def status_of(trouble: HeadwaterError) -> grpc.StatusCode:
    for kind, status in _BY_KIND:
        if isinstance(trouble, kind):
            return status
    return _BY_STATUS.get(trouble.status, grpc.StatusCode.INTERNAL)


async def abort_with_error(context: CallContext, trouble: HeadwaterError) -> NoReturn:
    status = status_of(trouble)
    if trouble.status >= 500:
        logger.error("call_failed", code=trouble.code, problem=trouble.message)
    await _abort(context, status, bytes(error_response(trouble).body))


async def abort_with_internal_error(context: CallContext) -> NoReturn:
    """The caller learns nothing of the cause: that is in the log."""
    await _abort(context, grpc.StatusCode.INTERNAL, bytes(internal_error_response().body))


class CallEnded(Exception):
    """The end of a call that no caller's mistake causes: a stop, a deadline, a slow reader."""

    def __init__(self, status: grpc.StatusCode, code: str, message: str) -> None:
        super().__init__(message)
        self.status, self.code, self.message = status, code, message


async def abort_ended_call(context: CallContext, end: CallEnded) -> NoReturn:
    # `abort` replaces the trailing metadata that was set before, so that is passed on.
    await context.abort(
        end.status, end.message, (*context.trailing_metadata(), (ERROR_KEY, end.code))
    )
    raise AssertionError("abort raises")


async def _abort(context: CallContext, status: grpc.StatusCode, envelope: bytes) -> NoReturn:
    fields = orjson.loads(envelope)
    trailing: list[tuple[str, str | bytes]] = [
        *context.trailing_metadata(),
        (ERROR_KEY, fields["error"]),
    ]
    if len(envelope) <= LONGEST_ENVELOPE:
        trailing.append((ENVELOPE_KEY, envelope))
    await context.abort(status, fields["message"][:LONGEST_MESSAGE], tuple(trailing))
    raise AssertionError("abort raises")
