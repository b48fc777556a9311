"""Metrics of the requests that the API answers."""

from headwater.core.telemetry.metrics import UNKNOWN, AreaMetrics

METHODS = frozenset({"GET", "POST", "PUT", "PATCH", "DELETE"})
_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)

REQUEST_METRICS = AreaMetrics()
REQUESTS = REQUEST_METRICS.counter(
    "api_requests", "Requests answered by the API.", "method", "route", "status"
)
ANSWER_SECONDS = REQUEST_METRICS.histogram(
    "api_duration_seconds", "How long it took until an answer began.", _SECONDS, "route"
)


def count_answer(method: str, route: str | None, status: int, seconds: float) -> None:
    """`route` is the template of its path; None when no route took the request."""
    known_method = method if method in METHODS else UNKNOWN
    known_route = UNKNOWN if route is None else route
    REQUESTS.labels(known_method, known_route, f"{status // 100}xx").inc()
    ANSWER_SECONDS.labels(known_route).observe(seconds)
