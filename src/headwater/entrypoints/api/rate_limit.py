"""Rate limit: each caller has a bucket in memory that fills up again; their number is bounded."""

from headwater.entrypoints.api.errors import RateLimited

MOST_CALLERS = 10_000


class RateLimiter:
    """Counts the requests of each caller. Time is a parameter, in monotonic seconds."""

    def __init__(self, per_minute: int) -> None:
        self._size = float(per_minute)
        self._per_second = per_minute / 60
        self._buckets: dict[str, tuple[float, float]] = {}

    def is_spent(self, caller: str, now: float) -> bool:
        """Whether the caller's next request will be refused."""
        if caller not in self._buckets:
            return False
        left, since = self._buckets[caller]
        return left + (now - since) * self._per_second < 1

    def spend(self, caller: str, now: float) -> None:
        """RateLimited when the bucket is empty."""
        left, since = self._buckets.get(caller, (self._size, now))
        left = min(self._size, left + (now - since) * self._per_second)
        if left < 1:
            raise RateLimited(
                "Too many requests; wait a moment.",
                retry_after_sec=round((1 - left) / self._per_second, 3),
            )
        if caller not in self._buckets and len(self._buckets) >= MOST_CALLERS:
            self._forget_the_idle(now)
        self._buckets[caller] = (left - 1, now)

    def _forget_the_idle(self, now: float) -> None:
        """Full buckets say nothing. If all are in use, the half that asked longest ago goes."""
        self._buckets = {
            caller: (left, since)
            for caller, (left, since) in self._buckets.items()
            if left + (now - since) * self._per_second < self._size
        }
        if len(self._buckets) >= MOST_CALLERS:
            newest = sorted(self._buckets.items(), key=lambda item: item[1][1])
            self._buckets = dict(newest[MOST_CALLERS // 2 :])
