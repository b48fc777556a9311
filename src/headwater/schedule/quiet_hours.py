"""The hours and days a publisher asks to be left alone (skipHours, skipDays; both in UTC)."""

from datetime import UTC, datetime, timedelta

from headwater.schedule.hints import WEEKDAYS, Hints

_HOUR = timedelta(hours=1)


def end_of_quiet(moment: datetime, hints: Hints, limit: timedelta) -> datetime:
    """The first open hour's start, the moment itself when it is open, at most `limit` later.

    A rule that forbids all hours, or all days, is ignored: with both left standing there is an
    open hour at least once a week, so the search ends within eight days.
    """
    hours = hints.skip_hours if len(hints.skip_hours) < 24 else ()
    days = hints.skip_days if len(hints.skip_days) < 7 else ()
    if not hours and not days:
        return moment
    open_hour = moment.astimezone(UTC)
    for _ in range(8 * 24):
        if open_hour.hour not in hours and WEEKDAYS[open_hour.weekday()] not in days:
            break
        open_hour = open_hour.replace(minute=0, second=0, microsecond=0) + _HOUR
    return min(open_hour, moment + limit)
