"""All kinds of sinks that people make, one row each."""

from collections.abc import Callable, Mapping

from headwater.sinks.kinds.nats import nats_kind
from headwater.sinks.kinds.ndjson import ndjson_kind
from headwater.sinks.kinds.redis import redis_kind
from headwater.sinks.kinds.webhook import webhook_kind
from headwater.sinks.sink_kind import SinkKind, SinkResources

KINDS: Mapping[str, Callable[[SinkResources], SinkKind]] = {
    "webhook": webhook_kind,
    "ndjson": ndjson_kind,
    "redis": redis_kind,
    "nats": nats_kind,
}
"""Headwater's own kinds stand in their areas; `wiring` adds them to these."""


def build_kinds(resources: SinkResources) -> dict[str, SinkKind]:
    return {name: build(resources) for name, build in KINDS.items()}
