"""What callers send: checked by pydantic at the border, turned into our nouns by one method."""

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StrictBool, StrictInt

from headwater.access.tokens import Given
from headwater.subscribe.credentials import Basic, Credentials
from headwater.subscribe.feed import (
    HIGHEST_PRIORITY,
    KEEP,
    LOWEST_PRIORITY,
    USUAL_PRIORITY,
    FeedPatch,
    Overrides,
    Wish,
)

SHORTEST_INTERVAL = 60
LONGEST_INTERVAL = 366 * 86_400


def printable(text: str) -> str:
    if any(ord(letter) < 32 or 127 <= ord(letter) < 160 for letter in text):
        raise ValueError("must not have control characters")
    if not text.strip():
        raise ValueError("must not be blank")
    return text


def _each_once(texts: list[str]) -> list[str]:
    if len(set(texts)) != len(texts):
        raise ValueError("must not name one category twice")
    return texts


Title = Annotated[str, Field(min_length=1, max_length=1_024), AfterValidator(printable)]
Category = Annotated[str, Field(min_length=1, max_length=200), AfterValidator(printable)]
Categories = Annotated[list[Category], Field(max_length=64), AfterValidator(_each_once)]
Priority = Annotated[
    StrictInt,
    Field(ge=LOWEST_PRIORITY, le=HIGHEST_PRIORITY, description="Higher goes first under load."),
]
Seconds = Annotated[StrictInt, Field(ge=SHORTEST_INTERVAL, le=LONGEST_INTERVAL)]


class Strict(BaseModel):
    """A field we do not know is a mistake, not a wish."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class NothingIn(Strict):
    """There is nothing to say: an empty object, or no body at all."""


Secret = Annotated[str, Field(max_length=8_192)]


class BasicIn(Strict):
    username: Secret
    password: Secret = Field(repr=False)


class CredentialsIn(Strict):
    """What a private source wants to see. One login at most; they replace what was set before."""

    headers: dict[str, Secret] = Field(default={}, repr=False)
    cookies: dict[str, Secret] = Field(default={}, repr=False)
    basic: BasicIn | None = Field(default=None, repr=False)
    bearer: Secret | None = Field(default=None, repr=False)

    def credentials(self) -> Credentials:
        basic = self.basic
        return Credentials(
            headers=tuple(self.headers.items()),
            cookies=tuple(self.cookies.items()),
            basic=None if basic is None else Basic(basic.username, basic.password),
            bearer=self.bearer,
        )


class OverridesIn(Strict):
    """A feed's own settings; null goes back to the default."""

    min_interval_sec: Seconds | None = None
    max_interval_sec: Seconds | None = None
    interval_sec: Seconds | None = Field(
        default=None, description="The cadence you want; null: adaptive."
    )
    disable_autodiscovery: StrictBool | None = None
    push_only: StrictBool | None = None
    archive_backfill: StrictBool | None = None
    verify_tls: StrictBool | None = None

    def changes(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in sorted(self.model_fields_set)}


class NewFeed(Strict):
    """A feed to follow, or a page that links to feeds (the answer then names them)."""

    url: Annotated[str, Field(min_length=1, max_length=100_000)]
    title: Title | None = None
    priority: Priority = USUAL_PRIORITY
    categories: Categories = []
    overrides: OverridesIn = OverridesIn()
    visit: Literal["now", "later"] = Field(
        "now", description="`now` fetches before it answers; `later` leaves that to a worker."
    )
    credentials: CredentialsIn | None = Field(
        None, repr=False, description="For a private feed; sent to its own origin only."
    )

    def wish(self) -> Wish:
        return Wish(
            self.title,
            self.priority,
            tuple(self.categories),
            Overrides().changed(self.overrides.changes()),
            None if self.credentials is None else self.credentials.credentials(),
        )


class FeedChanges(Strict):
    """Only what is named changes; null goes back to the default."""

    title: Title | None = None
    priority: Priority | None = None
    categories: Categories | None = None
    state: Literal["active", "paused"] = "active"
    overrides: OverridesIn | None = None

    def patch(self) -> FeedPatch:
        said = self.model_fields_set
        overrides = self._override_changes()
        if "title" in said:
            overrides["title"] = self.title
        return FeedPatch(
            priority=_or_usual(self.priority) if "priority" in said else KEEP,
            categories=tuple(self.categories or ()) if "categories" in said else KEEP,
            state=self.state if "state" in said else KEEP,
            overrides=overrides,
        )

    def _override_changes(self) -> dict[str, Any]:
        """`"overrides": null` puts all of them back."""
        if self.overrides is not None:
            return self.overrides.changes()
        if "overrides" in self.model_fields_set:
            return dict.fromkeys(OverridesIn.model_fields)
        return {}


class RefetchIn(Strict):
    whole: StrictBool = Field(False, description="Ask for the whole document, not for changes.")


class NewToken(Strict):
    name: Annotated[str, Field(min_length=1, max_length=200), AfterValidator(printable)]
    scope: Given = "read"


def _or_usual(priority: int | None) -> int:
    return USUAL_PRIORITY if priority is None else priority
