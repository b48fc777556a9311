"""Records of groups: what callers send about them, and what they get."""

from typing import Annotated, Any, Self

from pydantic import AliasPath, Field, StrictBool, model_validator

from headwater.entrypoints.api.models import (
    Categories,
    Id,
    JsonObject,
    Minutes,
    Priority,
    Strict,
    each_once,
)
from headwater.entrypoints.api.records import Moment, NounRecord, Record
from headwater.entrypoints.api.subscriptions.subscription_records import Description, Name
from headwater.feeds.feed import USUAL_PRIORITY
from headwater.subscriptions.groups.group import GroupPatch, GroupValues, NewGroup
from headwater.subscriptions.groups.group_commands import GroupAction, MemberAction
from headwater.subscriptions.subscription import SubscriptionPatch

MOST_AT_ONCE = 500
"""Members on which one request acts."""


class _GroupValuesIn(Strict):
    """Values that hold for every member which has none of its own."""

    fetch_interval_minutes: Minutes | None = None
    priority: Priority | None = None
    categories: Categories | None = None
    config: JsonObject | None = None

    def named_values(self) -> dict[str, Any]:
        """Those of the four that the caller named."""
        names = _GroupValuesIn.model_fields
        return {name: value for name, value in self.named_fields().items() if name in names}


class NewGroupIn(_GroupValuesIn):
    name: Name
    description: Description | None = None

    def group(self) -> NewGroup:
        return NewGroup(self.name, self.description, GroupValues(**self.named_values()))


class GroupChanges(_GroupValuesIn):
    """Only what is named changes; null says nothing more for the members."""

    name: Name = "a name"
    description: Description | None = None

    def patch(self) -> GroupPatch:
        values = self.named_values()
        rest = {name: value for name, value in self.named_fields().items() if name not in values}
        return GroupPatch(**rest, shared=values)


class MemberValuesIn(_GroupValuesIn):
    """Own values for members; null goes back to what the group says, or to the default."""

    def patch(self) -> SubscriptionPatch:
        values = self.named_values()
        if "priority" in values and values["priority"] is None:
            values["priority"] = USUAL_PRIORITY
        if "categories" in values and values["categories"] is None:
            values["categories"] = ()
        return SubscriptionPatch(**values)


class ActionIn(Strict):
    """One action for all members, or for those that are named."""

    action: GroupAction
    subscription_ids: (
        Annotated[list[Id], Field(max_length=MOST_AT_ONCE), each_once("one subscription")] | None
    ) = None
    hard: StrictBool = Field(False, description="For delete: entries and history go for good.")
    whole: StrictBool = Field(False, description="For refetch: ask for the whole document.")
    to_group_id: Id | None = Field(None, description="For move; null: into no group.")
    values: MemberValuesIn | None = Field(None, description="For set.")
    cursor: str | None = Field(None, description="`next_cursor` of the part before.")

    @model_validator(mode="after")
    def _check_fields_fit_action(self) -> Self:
        needs = {"hard": "delete", "whole": "refetch", "to_group_id": "move", "values": "set"}
        for name, action in needs.items():
            if name in self.model_fields_set and self.action != action:
                raise ValueError(f"{name} is for the action {action}")
        if self.action == "set" and (self.values is None or not self.values.model_fields_set):
            raise ValueError("values is needed for the action set")
        if self.action == "move" and "to_group_id" not in self.model_fields_set:
            raise ValueError("to_group_id is needed for the action move")
        return self

    def member_action(self) -> MemberAction:
        patch = self.values.patch() if self.values else SubscriptionPatch()
        return MemberAction(self.action, self.to_group_id, patch, self.hard, self.whole)


class GroupRecord(NounRecord):
    """`members` counts the active subscriptions in it."""

    group_id: int = Field(validation_alias="id")
    name: str
    description: str | None
    fetch_interval_minutes: int | None = Field(
        validation_alias=AliasPath("shared", "fetch_interval_minutes")
    )
    priority: int | None = Field(validation_alias=AliasPath("shared", "priority"))
    categories: list[str] | None = Field(validation_alias=AliasPath("shared", "categories"))
    config: str | None = Field(validation_alias=AliasPath("shared", "config"))
    has_credentials: bool
    members: int
    created_at: Moment
    updated_at: Moment


class GroupPage(Record):
    groups: list[GroupRecord]
    next_cursor: str | None


class RefusedMemberRecord(NounRecord):
    subscription_id: int
    message: str


class ChangedGroupRecord(GroupRecord):
    """How the members took it; `refused` names those whose fetcher does not take the config."""

    members_changed: int
    members_unchanged: int
    refused: list[RefusedMemberRecord]


class DissolvedRecord(NounRecord):
    group_id: int = Field(validation_alias="id")
    name: str
    subscriptions_kept: int = Field(validation_alias="members")


class ActionResultRecord(NounRecord):
    """`done`, or not and why: `error` is the code that the same request would get by itself."""

    subscription_id: int
    source_url: str | None
    done: bool
    error: str | None
    message: str | None
    next_visit_at: Moment | None
    retry_after_sec: float | None


class ActionReport(Record):
    """One line for every subscription. `next_cursor`: there are more members; ask again with it."""

    group_id: int
    action: str
    done: int
    refused: int
    results: list[ActionResultRecord]
    next_cursor: str | None
