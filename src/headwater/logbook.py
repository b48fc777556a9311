"""The logbook: one structured line for every visit."""

from headwater.errors import Refused
from headwater.remember import Lost, Remembered
from headwater.schedule.due import Due
from headwater.telemetry.log import logger
from headwater.values.url import redacted

log = logger("visits")


def tell(due: Due, remembered: Remembered) -> None:
    """What happened, and when we come back and why."""
    if isinstance(remembered, Lost):
        log.warning("visit_not_ours", feed=due.feed_id, url=redacted(due.url))
        return
    if isinstance(remembered, Refused):
        log.error("visit_refused", feed=due.feed_id, detail=remembered.message)
        return
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
