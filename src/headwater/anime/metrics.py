"""Metrics of releases: decisions, and the steps of their downloads."""

from headwater.core.telemetry.metrics import AreaMetrics

RELEASE_ACTIONS = ("fetch", "upgrade", "skip", "hold", "removed", "refused")

RELEASE_METRICS = AreaMetrics()
RELEASES = RELEASE_METRICS.counter(
    "releases_decided", "Decisions on releases, new ones and those made anew.", "action"
)
DOWNLOAD_STEPS = RELEASE_METRICS.counter(
    "download_steps", "Steps of downloads, by where they began and how they ended.", "state", "end"
)

_DECIDED_AS = {action: RELEASES.labels(action) for action in RELEASE_ACTIONS}


def count_decided_releases(action: str, count: int) -> None:
    """`action` is one of RELEASE_ACTIONS."""
    _DECIDED_AS[action].inc(count)


def count_download_step(state: str, end: str) -> None:
    """`state` is one of a download's; `end` is `done` or `failed`."""
    DOWNLOAD_STEPS.labels(state, end).inc()
