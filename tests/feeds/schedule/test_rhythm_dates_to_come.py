"""A feed of events to come, beside what was published: its rhythm is learnt from the past ones."""

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

from headwater.feeds.read_document import (
    ParseJob,
    ReadFeed,
    ReadingPolicy,
    decode_read_result,
    read_job,
)
from headwater.feeds.schedule.rhythm import newest_times, usual_gap

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


def test_dates_to_come_do_not_hide_the_rhythm() -> None:
    past = [NOW - timedelta(hours=n) for n in range(1, 11)]
    to_come = [NOW + timedelta(days=n) for n in range(1, 26)]
    items = "".join(
        f"<item><guid>{n}</guid><title>{n}</title><pubDate>{format_datetime(at)}</pubDate></item>"
        for n, at in enumerate(to_come + past)
    )
    body = f"<rss version='2.0'><channel><title>t</title>{items}</channel></rss>".encode()
    job = ParseJob("http://x/", None, None, "f", None, None)
    read = decode_read_result(read_job(job.as_bytes(ReadingPolicy()), body))
    assert isinstance(read, ReadFeed)
    moments = newest_times((), read.published, NOW.timestamp())
    assert usual_gap(moments, 0.3) == 3600
