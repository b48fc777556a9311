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


class BroadcastFailed(HeadwaterError):
    """The question who can handle a source could not even be put."""

    code = "broadcast_failed"


class NoCapableFetcher(HeadwaterError):
    """Every fetcher that was asked said no or nothing. Facts: `asked`, and `fetcher_id` of one."""

    code = "no_capable_fetcher"
    status = 400


class BadConfig(BadInput):
    """A config that its fetcher's schema refuses. Facts: `path`, where in the config."""

    code = "bad_config"


class BadConfigSchema(BadInput):
    """A schema that will not be used. Facts: `path`, where in the schema."""

    code = "bad_config_schema"


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


class ConflictError(HeadwaterError):
    code = "conflict"
    status = 409


class NameTaken(ConflictError):
    """A fetcher's name belongs to somebody else. Facts: `name`."""

    code = "name_taken"


class InvalidFetcher(HeadwaterError):
    """The fetcher may not be chosen here. Facts: `candidates`."""

    code = "invalid_fetcher"
    status = 400


class AlreadyResolved(ConflictError):
    """The conflict was decided otherwise before. Facts: `resolved_fetcher_id`."""

    code = "already_resolved"


class StaleClaim(ConflictError):
    """The claim was lost: its lease ran out, or the work was given to somebody else."""

    code = "stale_claim"


class TooSoon(HeadwaterError):
    """Asked more often than politeness allows. Facts: `retry_after_sec`; `host`, where it is a host
    that has no turn for us."""

    code = "too_soon"
    status = 429


class Unauthorized(HeadwaterError):
    code = "unauthorized"
    status = 401


class BadSignature(Unauthorized):
    """A request that the holder of the key did not sign, or signed too long ago."""

    code = "bad_signature"


class Forbidden(HeadwaterError):
    code = "forbidden"
    status = 403


class UnknownSchema(HeadwaterError):
    """The database is not at a schema this version knows. Facts: `found`, `wanted`."""

    code = "unknown_schema"


class DatabaseError(HeadwaterError):
    """The database answered with an error. Facts: `place`, where it is another place that did."""

    code = "database_error"


class DatabaseRefused(DatabaseError):
    """The database was reached and said no to a statement."""


class ConnectionLost(DatabaseError):
    """The database cannot be reached."""

    code = "connection_error"


class BadSettings(HeadwaterError):
    """Settings that contradict each other or good sense."""

    code = "bad_settings"


class SecretUnreadable(HeadwaterError):
    """A sealed secret does not open: another key, another row, or damage. Facts: `about`."""

    code = "secret_unreadable"


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
