"""What callers send to the registry about subscriptions, fetchers and conflicts."""

import json
from typing import Annotated, Any, Literal, Self

import orjson
from pydantic import AfterValidator, BeforeValidator, Field, StrictBool, StrictInt, model_validator

from headwater.changing import Changes
from headwater.entrypoints.api.bodies import check_json
from headwater.entrypoints.api.models import (
    Categories,
    CredentialsIn,
    Priority,
    Strict,
    Title,
    printable,
)
from headwater.entrypoints.api.refusals import BadBody
from headwater.subscribe.conflict import MULTI_FETCHER_MATCH
from headwater.subscribe.feed import KEEP, USUAL_PRIORITY
from headwater.subscribe.fetcher import (
    USUAL_FETCHER_PRIORITY,
    FetcherId,
    FetcherPatch,
)
from headwater.subscribe.subscription import NewSubscription, SubscriptionPatch

LONGEST_URL = 100_000
LARGEST_ID = 2**63 - 1
HIGHEST_FETCHER_PRIORITY = 1_000
MOST_CANDIDATES = 100


def _as_text(given: object) -> object:
    """An object becomes its JSON; what came as text is kept byte for byte."""
    if not isinstance(given, dict):
        return given
    try:
        # Not orjson: it has no word for an integer of more than 64 bits, and calls infinity null.
        return json.dumps(given, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    except ValueError as trouble:
        raise ValueError("must have no number that is too large") from trouble


def _each_once(ids: list[int]) -> list[int]:
    if len(set(ids)) != len(ids):
        raise ValueError("must not name one fetcher twice")
    return ids


def _opened(given: object) -> object:
    """Detectors that keep conflict data as text may send it so; what holds for a body holds there:
    a NUL that is escaped in a text within a text was seen by nobody before."""
    if not isinstance(given, str):
        return given
    try:
        check_json(given.encode())
        return orjson.loads(given)
    except (BadBody, orjson.JSONDecodeError) as trouble:
        raise ValueError("must be an object, or a text that holds one as JSON") from trouble


Id = Annotated[StrictInt, Field(ge=1, le=LARGEST_ID)]
JsonObject = Annotated[
    str,
    BeforeValidator(_as_text, json_schema_input_type=str | dict[str, Any]),
    Field(description="An object, or a text that holds one as JSON."),
]
SourceUrl = Annotated[str, Field(min_length=1, max_length=LONGEST_URL)]
SourceType = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.+-]{0,63}$")]
Description = Annotated[str, Field(max_length=4_096)]
Minutes = Annotated[
    StrictInt, Field(ge=1, le=366 * 1_440, description="The cadence you want; null: adaptive.")
]
Name = Annotated[str, Field(min_length=1, max_length=200), AfterValidator(printable)]
Version = Annotated[str, Field(min_length=1, max_length=100), AfterValidator(printable)]
FetcherPriority = Annotated[StrictInt, Field(ge=0, le=HIGHEST_FETCHER_PRIORITY)]


class _AboutSource(Strict):
    """`rss_url` is another name of `source_url`; when both are said, they must agree."""

    source_url: SourceUrl | None = Field(None, description="What is to be followed.")
    rss_url: SourceUrl | None = Field(None, description="Another name of `source_url`.")

    @model_validator(mode="after")
    def _agreeing(self) -> Self:
        said = {url for url in (self.source_url, self.rss_url) if url is not None}
        if len(said) > 1:
            raise ValueError("source_url and rss_url must agree")
        return self

    @property
    def said_url(self) -> str | None:
        return self.source_url or self.rss_url


class NewSubscriptionIn(_AboutSource):
    """A source to follow. Without `fetcher_id` all are asked, and the best that can takes it."""

    fetcher_id: Id | None = None
    source_type: SourceType = "rss"
    name: Title | None = None
    description: Description | None = None
    fetch_interval_minutes: Minutes | None = None
    config: JsonObject | None = None
    priority: Priority = USUAL_PRIORITY
    categories: Categories = Field(default_factory=list)
    group_id: Id | None = None
    credentials: CredentialsIn | None = Field(
        None, repr=False, description="For a private source; sent to its own origin only."
    )

    @model_validator(mode="after")
    def _with_a_source(self) -> Self:
        if self.said_url is None:
            raise ValueError("source_url is needed (or rss_url, its other name)")
        return self

    def wish(self) -> NewSubscription:
        return NewSubscription(
            source_url=self.said_url or "",
            source_type=self.source_type,
            name=self.name,
            description=self.description,
            fetch_interval_minutes=self.fetch_interval_minutes,
            config=self.config,
            fetcher_id=None if self.fetcher_id is None else FetcherId(self.fetcher_id),
            categories=tuple(self.categories),
            priority=self.priority,
            group_id=self.group_id,
            credentials=None if self.credentials is None else self.credentials.credentials(),
        )


class SubscriptionChanges(Strict):
    """Only what is named changes; null goes back to the default."""

    name: Title | None = None
    description: Description | None = None
    fetch_interval_minutes: Minutes | None = None
    config: JsonObject | None = None
    priority: Priority | None = None
    categories: Categories | None = None
    is_active: StrictBool = Field(True, description="False: no more visits, all history stays.")
    fetcher_id: Id = Field(1, description="Who fetches it from now on, once it has said yes.")
    group_id: Id | None = None

    def changes(self) -> Changes:
        said = {name: getattr(self, name) for name in self.model_fields_set}
        if "priority" in said and said["priority"] is None:
            said["priority"] = USUAL_PRIORITY
        if "categories" in said:
            said["categories"] = tuple(said["categories"] or ())
        return Changes(
            is_active=said.pop("is_active", KEEP),
            fetcher_id=said.pop("fetcher_id", KEEP),
            patch=SubscriptionPatch(**said),
        )


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
    def _reachable(self) -> Self:
        if self.base_url is None and (self.host is None or self.port is None):
            raise ValueError("base_url is needed, or host and port")
        return self

    @property
    def where(self) -> str:
        host = self.host or ""
        named = f"[{host}]" if ":" in host and not host.startswith("[") else host
        return self.base_url or f"http://{named}:{self.port}"


class FetcherChanges(Strict):
    """What an operator decides about a fetcher; only what is named changes."""

    is_enabled: StrictBool = True
    priority: FetcherPriority = USUAL_FETCHER_PRIORITY
    base_url: Annotated[str, Field(min_length=1, max_length=4_096)] = "http://localhost"
    description: Description | None = None

    def patch(self) -> FetcherPatch:
        return FetcherPatch(**{name: getattr(self, name) for name in self.model_fields_set})


class ConflictData(Strict):
    candidate_fetcher_ids: Annotated[
        list[Id], Field(min_length=2, max_length=MOST_CANDIDATES), AfterValidator(_each_once)
    ]
    conflict_reason: Annotated[str, Field(max_length=1_024)] = ""


class NewConflictIn(_AboutSource):
    """Several fetchers fit one subscription, says somebody outside. Named by its id or its URL."""

    subscription_id: Id | None = None
    conflict_type: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_]{0,63}$")] = MULTI_FETCHER_MATCH
    conflict_data: Annotated[
        ConflictData,
        BeforeValidator(_opened, json_schema_input_type=ConflictData | str),
    ]

    @model_validator(mode="after")
    def _with_a_subscription(self) -> Self:
        if self.subscription_id is None and self.said_url is None:
            raise ValueError("subscription_id is needed, or source_url")
        return self


class ResolveIn(Strict):
    fetcher_id: Id
    resolution_reason: Annotated[str, Field(max_length=1_024)] | None = None


ConflictStatus = Literal["unresolved", "resolved", "all"]
