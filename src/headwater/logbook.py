"""The logbook: one structured line for every visit."""

from headwater.errors import Refused
from headwater.fetch.faults import FAULTS, fault_of
from headwater.remember import Lost, Remembered
from headwater.schedule.due import Due
from headwater.settle import Settled
from headwater.spans import describe_end
from headwater.telemetry import metrics
from headwater.telemetry.log import logger
from headwater.telemetry.trace import the_visit
from headwater.values.url import redacted

log = logger("visits")


def tell(due: Due, remembered: Remembered) -> None:
    """What happened, and when we come back and why."""
    the_visit().tell(describe_end, remembered)
    if isinstance(remembered, Lost):
        log.warning("visit_not_ours", feed=due.feed_id, url=redacted(due.url))
        metrics.dropped("lost")
        return
    if isinstance(remembered, Refused):
        log.error("visit_refused", feed=due.feed_id, detail=remembered.message)
        metrics.dropped("refused")
        return
    metrics.visited(_seen(due, remembered))
    answer = remembered.finished.outcome.exchange.answer
    log.info(
        "visit",
        feed=due.feed_id,
        url=redacted(due.url),
        outcome=remembered.name,
        status=answer.status,
        error=remembered.error,
        bytes=len(answer.body),
        ms=round(answer.elapsed * 1000, 1),
        new=len(remembered.changes.new),
        updated=len(remembered.changes.edited),
        interval_before=round(due.state.interval),
        interval_after=round(remembered.decision.interval),
        reason=remembered.decision.reason,
    )


def _seen(due: Due, settled: Settled) -> metrics.Seen:
    answer, read, error = (
        settled.finished.outcome.exchange.answer,
        settled.finished.read,
        settled.error,
    )
    return metrics.Seen(
        settled.name,
        error if error is None or error in FAULTS else metrics.UNKNOWN,
        "" if error is None else fault_of(error),
        answer.elapsed,
        len(answer.body),
        None if read is None else read.decoded_bytes,
        len(settled.changes.new),
        len(settled.changes.edited),
        settled.decision.interval,
        due.after_failure,
    )
