"""Every kind of sink, by name: what each may be told, and how it is opened."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from headwater.adapters.outlets.nats import checked_nats, open_nats
from headwater.adapters.outlets.ndjson import checked_ndjson, open_ndjson
from headwater.adapters.outlets.redis import checked_redis, open_redis
from headwater.adapters.outlets.webhook import checked_webhook, open_webhook
from headwater.adapters.web_limits import WebLimits
from headwater.errors import BadInput
from headwater.fetch.address import AddressPolicy
from headwater.ports import Blobs, Clock, Database, Outlet, OutletPlan

KINDS = ("webhook", "ndjson", "redis", "nats")


class EveryOutlet:
    """The Outlets port."""

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

    def checked(self, plan: OutletPlan) -> OutletPlan:
        options, secrets = self._checked(plan.kind, plan.options, plan.secrets)
        return replace(plan, options=options, secrets=secrets)

    async def open(self, plan: OutletPlan) -> Outlet:
        match plan.kind:
            case "webhook":
                return await open_webhook(
                    plan, self._limits, self._address, self._clock, self._user_agent
                )
            case "ndjson":
                return await open_ndjson(plan, self._database, self._blobs, self._out_dir)
            case "redis":
                return await open_redis(plan)
            case "nats":
                return await open_nats(plan)
        raise unknown_kind(plan.kind)

    def _checked(
        self, kind: str, options: Mapping[str, Any], secrets: Mapping[str, str]
    ) -> tuple[dict[str, Any], dict[str, str]]:
        match kind:
            case "webhook":
                return checked_webhook(options, secrets, self._address)
            case "ndjson":
                return checked_ndjson(options, secrets)
            case "redis":
                return checked_redis(options, secrets)
            case "nats":
                return checked_nats(options, secrets)
        raise unknown_kind(kind)


def unknown_kind(kind: str) -> BadInput:
    return BadInput(
        f"There is no kind of sink {kind[:100]!r}; there are {', '.join(KINDS)}.",
        field="kind",
        known=list(KINDS),
    )
