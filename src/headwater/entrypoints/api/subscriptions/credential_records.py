"""Records of credentials: what callers send about them, and what they get."""

from typing import Annotated, Literal

from pydantic import Field

from headwater.entrypoints.api.models import CredentialsIn
from headwater.entrypoints.api.records import Record
from headwater.entrypoints.api.subscriptions.subscription_records import SourceUrl
from headwater.feeds.keyring import Credentials


class GroupCredentialsIn(CredentialsIn):
    origins: Annotated[list[SourceUrl], Field(max_length=64)] = Field(
        default=[],
        description="For which origins. Without any: for the one that all members share.",
    )


class CredentialsRecord(Record):
    """Which kinds of credentials are held, and which origins get them. Values are never shown."""

    has_credentials: bool
    kinds: list[Literal["headers", "cookies", "basic", "bearer"]]
    origins: list[str]

    @classmethod
    def of(cls, credentials: Credentials | None) -> "CredentialsRecord":
        if credentials is None:
            return cls(has_credentials=False, kinds=[], origins=[])
        return cls(
            has_credentials=True, kinds=list(credentials.kinds), origins=list(credentials.origins)
        )
