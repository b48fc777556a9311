"""The services of sinks: their kinds, and the vault that seals their secrets."""

from dataclasses import dataclass

from headwater.core.ports import Clock, Database, Vault
from headwater.sinks.sink_kind import SinkKinds


@dataclass(frozen=True, slots=True)
class SinkServices:
    database: Database
    clock: Clock
    vault: Vault
    kinds: SinkKinds
