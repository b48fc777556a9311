"""A kind of sink: which options it takes, how one is opened, and what is usual for it."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from headwater.core.errors import BadInput
from headwater.core.ports import Clock, Database
from headwater.core.values.keep import KEEP
from headwater.feeds.ports import Blobs
from headwater.sinks.ports import SinkConfig, SinkConnection
from headwater.sinks.sink import SinkDefinition
from headwater.web.address_gate import AddressPolicy
from headwater.web.limits import WebLimits

CheckedOptions = tuple[dict[str, Any], dict[str, str]]
"""The options and the secrets of a sink, with defaults filled in."""


@dataclass(frozen=True, slots=True)
class SinkResources:
    """The parts of this process that sinks may use.

    `address`: where webhooks may lead. `out_dir`: the folder for the files of sinks.
    """

    web_limits: WebLimits
    address: AddressPolicy
    clock: Clock
    user_agent: str
    database: Database
    blobs: Blobs
    out_dir: Path


@dataclass(frozen=True, slots=True)
class SinkKind:
    """A row of the table of kinds.

    `check` fills in the defaults and opens nothing; BadInput has the fact `field` with the name of
    what is wrong. `open` gets a config that was checked before. It reaches nobody yet: trouble
    belongs into the result of a delivery.
    """

    check: Callable[[Mapping[str, Any], Mapping[str, str]], CheckedOptions]
    open: Callable[[SinkConfig], Awaitable[SinkConnection]]
    is_signed: bool = False
    """A secret signs every message. It can be rotated, and a test message can be sent."""
    attempts: int | None = None
    """Tries before an event dies, unless the sink has its own number; None: it never does."""
    own_task: str | None = None
    """For a sink of Headwater's own, which nobody else makes or changes: the work it does."""


@dataclass(frozen=True, slots=True)
class SinkKinds:
    """Every kind of sink, by name. A name that is not here has no traits, and cannot be opened."""

    kinds: Mapping[str, SinkKind]

    def checked(self, config: SinkConfig) -> SinkConfig:
        """The config with defaults filled in; BadInput names the wrong field. Nothing is opened."""
        options, secrets = self._get(config.kind).check(config.options, config.secrets)
        return replace(config, options=options, secrets=secrets)

    async def open(self, config: SinkConfig) -> SinkConnection:
        return await self._get(config.kind).open(config)

    def is_signed(self, name: str) -> bool:
        return name in self.kinds and self.kinds[name].is_signed

    def is_own(self, name: str) -> bool:
        return self.own_task(name) is not None

    def own_task(self, name: str) -> str | None:
        return self.kinds[name].own_task if name in self.kinds else None

    def attempts_of(self, definition: SinkDefinition) -> int | None:
        """The definition's own number of tries, or the usual one of its kind."""
        if definition.max_attempts is not KEEP:
            return definition.max_attempts
        return self.kinds[definition.kind].attempts if definition.kind in self.kinds else None

    def _get(self, name: str) -> SinkKind:
        if name in self.kinds:
            return self.kinds[name]
        known = [each for each in self.kinds if not self.is_own(each)]
        raise BadInput(
            f"There is no kind of sink {name[:100]!r}; there are {', '.join(known)}.",
            field="kind",
            known=known,
        )


def check_no_options(
    kind: str, options: Mapping[str, Any], secrets: Mapping[str, str]
) -> CheckedOptions:
    """The check of a kind that has neither options nor secrets."""
    for name in (*options, *secrets):
        raise BadInput(f"The {kind} option {name[:100]!r} is unknown.", field=name[:100])
    return {}, {}
