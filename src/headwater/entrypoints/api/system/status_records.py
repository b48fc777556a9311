"""Records of the status: health, versions, counts and workers."""

from headwater.entrypoints.api.records import Moment, NounRecord, Record


class Health(Record):
    status: str


class VersionsRecord(Record):
    headwater: str
    python: str
    libxml2: str
    database: str


class CountsRecord(Record):
    feeds: dict[str, int]
    feeds_due: int
    feeds_being_visited: int
    feeds_failing: int
    entries: int
    raw_fetches: int
    events: int


class WorkerRecord(NounRecord):
    worker_id: str
    host: str
    pid: int
    started_at: Moment
    heartbeat_at: Moment
    heartbeat_age_sec: float


class Status(Record):
    """`lag_sec`: how long the longest-waiting feed is overdue."""

    now: Moment
    versions: VersionsRecord
    counts: CountsRecord
    workers: list[WorkerRecord]
    lag_sec: float
