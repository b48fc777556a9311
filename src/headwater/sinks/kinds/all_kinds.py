"""All kinds of sinks, by name: what each may be told, and how it is opened."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from headwater.core.errors import BadInput
from headwater.core.ports import Clock, Database
from headwater.feeds.ports import Blobs
from headwater.sinks.kinds.nats import check_nats_options, open_nats_sink
from headwater.sinks.kinds.ndjson import check_ndjson_options, open_ndjson_sink
from headwater.sinks.kinds.redis import check_redis_options, open_redis_sink
from headwater.sinks.kinds.webhook import check_webhook_options, open_webhook_sink
from headwater.sinks.ports import SinkConfig, SinkConnection
from headwater.web.address_gate import AddressPolicy
from headwater.web.limits import WebLimits

KINDS = ("webhook", "ndjson", "redis", "nats")


class AllSinkKinds:
    """`SinkKinds`, with one opener for each kind."""

    def __init__(
        self,
        *,
        web_limits: WebLimits,
        address: AddressPolicy,
        clock: Clock,
        user_agent: str,
        database: Database,
        blobs: Blobs,
        out_dir: Path,
    ) -> None:
        """`out_dir`: where files of sinks may be. `address`: where webhooks may lead."""
        self._limits, self._address = web_limits, address
        self._clock, self._user_agent = clock, user_agent
        self._database, self._blobs, self._out_dir = database, blobs, out_dir.absolute()

    def checked(self, plan: SinkConfig) -> SinkConfig:
        options, secrets = self._checked(plan.kind, plan.options, plan.secrets)
        return replace(plan, options=options, secrets=secrets)

    async def open(self, plan: SinkConfig) -> SinkConnection:
        match plan.kind:
            case "webhook":
                return await open_webhook_sink(
                    plan, self._limits, self._address, self._clock, self._user_agent
                )
            case "ndjson":
                return await open_ndjson_sink(plan, self._database, self._blobs, self._out_dir)
            case "redis":
                return await open_redis_sink(plan)
            case "nats":
                return await open_nats_sink(plan)
        raise unknown_kind(plan.kind)

    def _checked(
        self, kind: str, options: Mapping[str, Any], secrets: Mapping[str, str]
    ) -> tuple[dict[str, Any], dict[str, str]]:
        match kind:
            case "webhook":
                return check_webhook_options(options, secrets, self._address)
            case "ndjson":
                return check_ndjson_options(options, secrets)
            case "redis":
                return check_redis_options(options, secrets)
            case "nats":
                return check_nats_options(options, secrets)
        raise unknown_kind(kind)


def unknown_kind(kind: str) -> BadInput:
    return BadInput(
        f"There is no kind of sink {kind[:100]!r}; there are {', '.join(KINDS)}.",
        field="kind",
        known=list(KINDS),
    )
