"""Records of fetchers: what callers send about them, and what they get."""

from typing import Annotated, Self

from pydantic import AfterValidator, Field, StrictBool, StrictInt, model_validator

from headwater.entrypoints.api.idempotency import ShownOnce
from headwater.entrypoints.api.models import JsonObject, Strict, check_printable
from headwater.entrypoints.api.records import Moment, NounRecord, Record
from headwater.entrypoints.api.subscriptions.subscription_records import Description, Name
from headwater.subscriptions.fetchers.fetcher import (
    USUAL_FETCHER_PRIORITY,
    FetcherPatch,
    Registration,
)

HIGHEST_FETCHER_PRIORITY = 1_000
Version = Annotated[str, Field(min_length=1, max_length=100), AfterValidator(check_printable)]
FetcherPriority = Annotated[StrictInt, Field(ge=0, le=HIGHEST_FETCHER_PRIORITY)]


class RegisterIn(Strict):
    """A fetcher that joins. Without `base_url` it is reached at `http://host:port`."""

    service_name: Name
    host: Annotated[str, Field(min_length=1, max_length=253)] | None = None
    port: Annotated[StrictInt, Field(ge=1, le=65_535)] | None = None
    base_url: Annotated[str, Field(min_length=1, max_length=4_096)] | None = None
    version: Version = "1.0.0"
    description: Description | None = None
    priority: FetcherPriority = Field(
        USUAL_FETCHER_PRIORITY, description="Counts when it joins; later only an admin changes it."
    )
    config_schema: JsonObject | None = None
    wants_news: StrictBool = Field(
        False, description="Tell it of subscriptions at `POST {base_url}/subscriptions`."
    )
    rotate: StrictBool = Field(False, description="A new token and signing key; the old ones end.")

    @model_validator(mode="after")
    def _check_is_reachable(self) -> Self:
        if self.base_url is None and (self.host is None or self.port is None):
            raise ValueError("base_url is needed, or host and port")
        return self

    @property
    def reached_at(self) -> str:
        host = self.host or ""
        bracketed = f"[{host}]" if ":" in host and not host.startswith("[") else host
        return self.base_url or f"http://{bracketed}:{self.port}"

    def registration(self) -> Registration:
        return Registration(
            name=self.service_name,
            version=self.version,
            description=self.description,
            base_url=self.reached_at,
            priority=self.priority,
            config_schema=self.config_schema,
            wants_news=self.wants_news,
        )


class FetcherChanges(Strict):
    """Changes that an operator makes to a fetcher; only what is named changes."""

    is_enabled: StrictBool = True
    priority: FetcherPriority = USUAL_FETCHER_PRIORITY
    base_url: Annotated[str, Field(min_length=1, max_length=4_096)] = "http://localhost"
    description: Description | None = None

    def patch(self) -> FetcherPatch:
        return FetcherPatch(**self.named_fields())


class FetcherRecord(NounRecord):
    fetcher_id: int = Field(validation_alias="id")
    name: str
    version: str
    description: str | None
    base_url: str
    priority: int
    is_enabled: bool
    is_builtin: bool
    config_schema: str | None
    wants_news: bool
    last_seen_at: Moment | None
    created_at: Moment
    updated_at: Moment


class FetcherPage(Record):
    fetcher_modules: list[FetcherRecord]


class JoinedFetcherRecord(FetcherRecord):
    """A fetcher that joined, with what it needs to work."""

    token: Annotated[str | None, ShownOnce] = Field(
        description="Its own token. Shown once: null when it has one and no new one was asked for."
    )
    signing_key: Annotated[str | None, ShownOnce] = Field(
        description="Signs our requests to it (`whsec_…`). Shown once, like the token."
    )


class HeartbeatRecord(Record):
    fetcher_id: int
    last_seen_at: Moment
    is_enabled: bool
