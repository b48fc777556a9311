"""Errors of callers, and of things that fail now. Each has a code and its facts."""

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
    """A URL that we would never request."""

    code = "bad_url"


class BlockedAddress(BadInput):
    """A URL that leads to an address where no feed may lead."""

    code = "blocked_address"


class NotAFeed(BadInput):
    """The document was fetched, but it is no feed. Facts: `received`; of a page `candidates`."""

    code = "not_a_feed"


class FetchFailed(HeadwaterError):
    """The first fetch of a new feed did not bring a document. Facts: `outcome`, `status`."""

    code = "fetch_failed"
    status = 502


class BroadcastFailed(HeadwaterError):
    """The fetchers could not be asked who can handle a source."""

    code = "broadcast_failed"


class NoCapableFetcher(HeadwaterError):
    """Every fetcher that was asked refused or was silent. Facts: `asked`; of one `fetcher_id`."""

    code = "no_capable_fetcher"
    status = 400


class BadConfig(BadInput):
    """A config that the schema of its fetcher refuses. Facts: `path`, the place in the config."""

    code = "bad_config"


class BadConfigSchema(BadInput):
    """A config schema that we refuse to use. Facts: `path`, the place in the schema."""

    code = "bad_config_schema"


class NotFound(HeadwaterError):
    code = "not_found"
    status = 404


class DuplicateUrl(HeadwaterError):
    """A feed of this URL is followed already. Facts: `feed_id`."""

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
    """This fetcher may not be chosen here. Facts: `candidates`."""

    code = "invalid_fetcher"
    status = 400


class AlreadyResolved(ConflictError):
    """The conflict was decided in another way before. Facts: `resolved_fetcher_id`."""

    code = "already_resolved"


class StaleClaim(ConflictError):
    """The claim was lost: its lease ran out, or another worker has the work now."""

    code = "stale_claim"


class TooSoon(HeadwaterError):
    """A request came sooner than politeness allows. Facts: `retry_after_sec`, and `host` when it
    is a host that has no turn for us."""

    code = "too_soon"
    status = 429


class Unauthorized(HeadwaterError):
    code = "unauthorized"
    status = 401


class BadSignature(Unauthorized):
    """The holder of the key did not sign this request, or signed it too long ago."""

    code = "bad_signature"


class Forbidden(HeadwaterError):
    code = "forbidden"
    status = 403


class UnknownSchema(HeadwaterError):
    """The database has a schema that this version does not know. Facts: `found`, `wanted`."""

    code = "unknown_schema"


class DatabaseError(HeadwaterError):
    """The database answered with an error. Facts: `place`, when another store answered so."""

    code = "database_error"


class DatabaseRefused(DatabaseError):
    """The database was reached and refused a statement."""


class ConnectionLost(DatabaseError):
    """The database cannot be reached."""

    code = "connection_error"


class BadSettings(HeadwaterError):
    """Settings contradict each other or make no sense."""

    code = "bad_settings"


class SecretUnreadable(HeadwaterError):
    """A sealed secret does not open: wrong key, wrong row, or damage. Facts: `about`."""

    code = "secret_unreadable"


class RawExpired(NotFound):
    """Retention has deleted the payload."""

    code = "raw_expired"
    status = 410


class BlobDamaged(HeadwaterError):
    """A stored payload no longer matches its SHA-256; it is never served."""

    code = "blob_damaged"


class StorageError(HeadwaterError):
    """Blobs cannot be written or read. Facts: `reason`, such as `ENOSPC` or `EROFS`."""

    code = "storage_error"
