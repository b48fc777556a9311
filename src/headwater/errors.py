"""What a caller did wrong, or what we cannot do now: each with a code and its facts."""

from typing import Any


class HeadwaterError(Exception):
    """The root. `code` is stable, `facts` are for programs, the message is for people."""

    code = "internal_error"
    status = 500

    def __init__(self, message: str, **facts: Any) -> None:
        super().__init__(message)
        self.message = message
        self.facts = facts


class BadInput(HeadwaterError):
    code = "bad_input"
    status = 422


class BadUrl(BadInput):
    """Not a URL we would ever ask for."""

    code = "bad_url"


class BlockedAddress(BadInput):
    """A URL that leads where feeds may not lead."""

    code = "blocked_address"


class NotAFeed(BadInput):
    """Fetched, but no feed. Facts: `received` and, for a page, `candidates`."""

    code = "not_a_feed"


class FetchFailed(HeadwaterError):
    """The first fetch of a new feed did not bring a document. Facts: `outcome`, `status`."""

    code = "fetch_failed"
    status = 502


class NotFound(HeadwaterError):
    code = "not_found"
    status = 404


class DuplicateUrl(HeadwaterError):
    """Already followed. Facts: `feed_id`."""

    code = "duplicate_url"
    status = 409


class AmbiguousEntry(HeadwaterError):
    """Several feeds have an entry of this uid. Facts: `feeds`."""

    code = "ambiguous_entry"
    status = 409


class Conflict(HeadwaterError):
    code = "conflict"
    status = 409


class TooSoon(HeadwaterError):
    """Asked more often than politeness allows. Facts: `retry_after_sec`."""

    code = "too_soon"
    status = 429


class Unauthorized(HeadwaterError):
    code = "unauthorized"
    status = 401


class Forbidden(HeadwaterError):
    code = "forbidden"
    status = 403


class UnknownSchema(HeadwaterError):
    """The database is not at a schema this version knows. Facts: `found`, `wanted`."""

    code = "unknown_schema"


class DatabaseError(HeadwaterError):
    """The database answered with an error."""

    code = "database_error"


class Refused(DatabaseError):
    """The database was reached and said no to a statement."""


class ConnectionLost(DatabaseError):
    """The database cannot be reached."""

    code = "connection_error"


class BadSettings(HeadwaterError):
    """Settings that contradict each other or good sense."""

    code = "bad_settings"


class RawExpired(NotFound):
    """The payload was let go by retention."""

    code = "raw_expired"
    status = 410


class BlobDamaged(HeadwaterError):
    """A stored payload no longer matches its SHA-256: never served as good."""

    code = "blob_damaged"


class StorageError(HeadwaterError):
    """Blobs cannot be written or read. Facts: `reason` (such as `ENOSPC` or `EROFS`)."""

    code = "storage_error"
