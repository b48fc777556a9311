"""Records of subscriptions: what callers send about them, and what they get."""

from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, Field, StrictBool, model_validator

from headwater.core.values.ids import FetcherId
from headwater.core.values.keep import KEEP
from headwater.entrypoints.api.models import (
    Categories,
    CredentialsIn,
    Id,
    JsonObject,
    Minutes,
    Priority,
    Strict,
    Title,
    check_printable,
)
from headwater.entrypoints.api.records import Moment, NounRecord, Record
from headwater.feeds.feed import USUAL_PRIORITY
from headwater.subscriptions.change_subscription import SubscriptionUpdate
from headwater.subscriptions.subscription import NewSubscription, SubscriptionPatch

LONGEST_URL = 100_000
SourceUrl = Annotated[str, Field(min_length=1, max_length=LONGEST_URL)]
SourceType = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.+-]{0,63}$")]
Description = Annotated[str, Field(max_length=4_096)]
Name = Annotated[str, Field(min_length=1, max_length=200), AfterValidator(check_printable)]


class SourceIn(Strict):
    """`rss_url` is another name of `source_url`; when both are there, they must agree."""

    source_url: SourceUrl | None = Field(None, description="What is to be followed.")
    rss_url: SourceUrl | None = Field(None, description="Another name of `source_url`.")

    @model_validator(mode="after")
    def _check_urls_agree(self) -> Self:
        urls = {url for url in (self.source_url, self.rss_url) if url is not None}
        if len(urls) > 1:
            raise ValueError("source_url and rss_url must agree")
        return self

    @property
    def named_url(self) -> str | None:
        return self.source_url or self.rss_url


class NewSubscriptionIn(SourceIn):
    """A source to follow. Without `fetcher_id` all are asked, and the best that can takes it."""

    fetcher_id: Id | None = None
    source_type: SourceType = "rss"
    name: Title | None = None
    description: Description | None = None
    fetch_interval_minutes: Minutes | None = None
    config: JsonObject | None = None
    priority: Priority = USUAL_PRIORITY
    categories: Categories = Field(default_factory=tuple)
    group_id: Id | None = None
    credentials: CredentialsIn | None = Field(
        None, repr=False, description="For a private source; sent to its own origin only."
    )

    @model_validator(mode="after")
    def _check_has_source(self) -> Self:
        if self.named_url is None:
            raise ValueError("source_url is needed (or rss_url, its other name)")
        return self

    def subscription(self) -> NewSubscription:
        return NewSubscription(
            source_url=self.named_url or "",
            source_type=self.source_type,
            name=self.name,
            description=self.description,
            fetch_interval_minutes=self.fetch_interval_minutes,
            config=self.config,
            fetcher_id=None if self.fetcher_id is None else FetcherId(self.fetcher_id),
            categories=self.categories,
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
    fetcher_id: Id = Field(1, description="Who fetches it from now on, once it has agreed.")
    group_id: Id | None = None

    def update(self) -> SubscriptionUpdate:
        fields = self.named_fields()
        if "priority" in fields and fields["priority"] is None:
            fields["priority"] = USUAL_PRIORITY
        if "categories" in fields and fields["categories"] is None:
            fields["categories"] = ()
        return SubscriptionUpdate(
            is_active=fields.pop("is_active", KEEP),
            fetcher_id=fields.pop("fetcher_id", KEEP),
            patch=SubscriptionPatch(**fields),
        )


class SubscriptionRecord(NounRecord):
    """`rss_url` is another name of `source_url`; `feed_id` is the feed that holds its entries."""

    subscription_id: int = Field(validation_alias="id")
    fetcher_id: int
    source_url: str
    rss_url: str = Field(validation_alias="source_url")
    source_type: str
    name: str | None
    description: str | None
    last_fetched_at: Moment | None
    next_fetch_at: Moment | None
    fetch_interval_minutes: int
    is_active: bool
    config: str | None
    assignment_status: Literal["assigned", "auto_assigned"]
    auto_selected: bool
    assigned_at: Moment | None
    feed_id: str
    group_id: int | None
    has_credentials: bool
    created_at: Moment
    updated_at: Moment


class SubscriptionPage(Record):
    subscriptions: list[SubscriptionRecord]
    next_cursor: str | None


class AssignedPage(Record):
    """The subscriptions that one fetcher visits: their URLs alone, and the whole of them."""

    fetcher_id: int
    urls: list[str]
    subscriptions: list[SubscriptionRecord]
    next_cursor: str | None


class UnsubscribedRecord(NounRecord):
    """`rows_deleted` is 0 when it was inactive already."""

    message: str
    subscription_id: int = Field(validation_alias="id")
    source_url: str
    rss_url: str = Field(validation_alias="source_url")
    rows_deleted: int
    hard: bool


class SubscriptionHistoryRecord(NounRecord):
    """One decision about a subscription: who made it, why, and what it changed."""

    id: int
    at: Moment
    who: str
    what: str
    why: str | None
    before: dict[str, Any] | None
    after: dict[str, Any] | None
    conflict_id: int | None


class HistoryPage(Record):
    """Newest first."""

    subscription_id: int
    history: list[SubscriptionHistoryRecord]
    next_cursor: str | None
