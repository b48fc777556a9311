"""Report a visit: one structured line of the log, and its metrics."""

from headwater.core.errors import DatabaseRefused
from headwater.core.telemetry.log import get_logger
from headwater.core.telemetry.metrics import UNKNOWN
from headwater.core.telemetry.trace import current_trace
from headwater.core.values.url import redacted
from headwater.feeds.commit_visits import ClaimLost, CommitResult
from headwater.feeds.fetch.failures import FAULTS, fault_of
from headwater.feeds.judge_visit import JudgedVisit
from headwater.feeds.metrics import MeasuredVisit, count_dropped_visit, count_visit
from headwater.feeds.schedule.due import DueFeed
from headwater.feeds.visit_trace import describe_end

logger = get_logger("visits")


def report_visit(due: DueFeed, result: CommitResult) -> None:
    """Report the result of a visit, the time of the next one, and the reason for it."""
    current_trace().tell(describe_end, result)
    if isinstance(result, ClaimLost):
        logger.warning("visit_not_ours", feed=due.feed_id, url=redacted(due.url))
        count_dropped_visit("lost")
        return
    if isinstance(result, DatabaseRefused):
        logger.error("visit_refused", feed=due.feed_id, detail=result.message)
        count_dropped_visit("refused")
        return
    count_visit(_measured_visit(due, result))
    answer = result.finished.outcome.exchange.answer
    logger.info(
        "visit",
        feed=due.feed_id,
        url=redacted(due.url),
        outcome=result.name,
        status=answer.status,
        error=result.error,
        bytes=len(answer.body),
        ms=round(answer.elapsed * 1000, 1),
        new=len(result.changes.new),
        updated=len(result.changes.edited),
        interval_before=round(due.state.interval),
        interval_after=round(result.decision.interval),
        reason=result.decision.reason,
    )


def _measured_visit(due: DueFeed, judged: JudgedVisit) -> MeasuredVisit:
    answer, read, error = (
        judged.finished.outcome.exchange.answer,
        judged.finished.read,
        judged.error,
    )
    return MeasuredVisit(
        judged.name,
        error if error is None or error in FAULTS else UNKNOWN,
        "" if error is None else fault_of(error),
        answer.elapsed,
        len(answer.body),
        None if read is None else read.decoded_bytes,
        len(judged.changes.new),
        len(judged.changes.edited),
        judged.decision.interval,
        due.after_failure,
    )
