"""Sinks in the settings."""

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import (
    AwareDatetime,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    SecretStr,
    StrictInt,
)

SINK_KINDS = ("webhook", "ndjson", "redis", "nats")
"""The kinds of sinks that people make. `sinks.kinds.all_kinds.KINDS` has the same names."""


def _start(value: Any) -> Any:
    """A time may be written as text. A number that is written as text is refused."""
    if value in ("beginning", "end") or type(value) in (int, datetime):
        return value
    try:
        return datetime.fromisoformat(value)
    except (TypeError, ValueError) as trouble:
        raise ValueError("must be beginning, end, a number or a time with a zone") from trouble


class SinkSetting(BaseModel):
    """One sink of the settings: a `[[sinks]]` table, or an object in HEADWATER_SINKS."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)

    name: str
    kind: str
    options: dict[str, str | int | float | bool | None] = {}
    secrets: dict[str, SecretStr] = {}
    wanted: dict[Literal["types", "feeds", "categories"], list[str]] = {}
    enabled: bool = True
    max_attempts: StrictInt | None = Field(None, ge=1, le=1_000_000)
    start: Annotated[
        StrictInt | Literal["beginning", "end"] | AwareDatetime, BeforeValidator(_start)
    ] = Field("end", alias="from")
