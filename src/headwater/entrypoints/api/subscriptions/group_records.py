"""Records of groups: what callers send about them, and what they get."""

from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, Field, StrictBool, model_validator

from headwater.core.values.keep import KEEP
from headwater.entrypoints.api.models import Categories, Id, JsonObject, Minutes, Priority, Strict
from headwater.entrypoints.api.records import Moment, Record
from headwater.entrypoints.api.subscriptions.subscription_records import Description, Name
from headwater.feeds.feed import USUAL_PRIORITY
from headwater.subscriptions.groups.apply_group_values import SpreadResult
from headwater.subscriptions.groups.group import Group, GroupPatch, GroupValues, NewGroup
from headwater.subscriptions.groups.group_commands import MemberAction, MemberResult
from headwater.subscriptions.subscription import SubscriptionPatch

MOST_AT_ONCE = 500


class _SharedIn(Strict):
    """What holds for every member that says nothing else itself."""

    fetch_interval_minutes: Minutes | None = None
    priority: Priority | None = None
    categories: Categories | None = None
    config: JsonObject | None = None

    def said(self) -> dict[str, Any]:
        names = _SharedIn.model_fields.keys() & self.model_fields_set
        said = {name: getattr(self, name) for name in sorted(names)}
        if said.get("categories") is not None:
            said["categories"] = tuple(said["categories"])
        return said


class NewGroupIn(_SharedIn):
    name: Name
    description: Description | None = None

    def group(self) -> NewGroup:
        return NewGroup(self.name, self.description, GroupValues(**self.said()))


class GroupChanges(_SharedIn):
    """Only what is named changes; null says nothing more for the members."""

    name: Name = "a name"
    description: Description | None = None

    def patch(self) -> GroupPatch:
        return GroupPatch(
            name=self.name if "name" in self.model_fields_set else KEEP,
            description=self.description if "description" in self.model_fields_set else KEEP,
            shared=self.said(),
        )


class MemberValuesIn(_SharedIn):
    """Own values for members; null goes back to what the group says, or to the default."""

    def subscription_patch(self) -> SubscriptionPatch:
        said = self.said()
        if "priority" in said and said["priority"] is None:
            said["priority"] = USUAL_PRIORITY
        if "categories" in said and said["categories"] is None:
            said["categories"] = ()
        return SubscriptionPatch(**said)


def _each_once(ids: list[int]) -> list[int]:
    if len(set(ids)) != len(ids):
        raise ValueError("must not name one subscription twice")
    return ids


class ActionIn(Strict):
    """One wish for all members, or for those that are named."""

    action: Literal["pause", "resume", "refetch", "delete", "move", "set"]
    subscription_ids: (
        Annotated[list[Id], Field(max_length=MOST_AT_ONCE), AfterValidator(_each_once)] | None
    ) = None
    hard: StrictBool = Field(False, description="For delete: entries and history go for good.")
    whole: StrictBool = Field(False, description="For refetch: ask for the whole document.")
    to_group_id: Id | None = Field(None, description="For move; null: into no group.")
    values: MemberValuesIn | None = Field(None, description="For set.")
    cursor: str | None = Field(None, description="`next_cursor` of the part before.")

    @model_validator(mode="after")
    def _fitting(self) -> Self:
        needs = {"hard": "delete", "whole": "refetch", "to_group_id": "move", "values": "set"}
        for name, action in needs.items():
            if name in self.model_fields_set and self.action != action:
                raise ValueError(f"{name} is for the action {action}")
        if self.action == "set" and (self.values is None or not self.values.model_fields_set):
            raise ValueError("values is needed for the action set")
        if self.action == "move" and "to_group_id" not in self.model_fields_set:
            raise ValueError("to_group_id is needed for the action move")
        return self

    def act(self) -> MemberAction:
        patch = self.values.subscription_patch() if self.values else SubscriptionPatch()
        return MemberAction(self.action, self.to_group_id, patch, self.hard, self.whole)


class GroupRecord(Record):
    """`members` counts the active subscriptions in it."""

    group_id: int
    name: str
    description: str | None
    fetch_interval_minutes: int | None
    priority: int | None
    categories: list[str] | None
    config: str | None
    has_credentials: bool
    members: int
    created_at: Moment
    updated_at: Moment

    @classmethod
    def of(cls, group: Group) -> "GroupRecord":
        return cls(**cls.fields_of(group))

    @staticmethod
    def fields_of(group: Group) -> dict[str, Any]:
        categories = group.shared.categories
        return {
            "group_id": group.id,
            "name": group.name,
            "description": group.description,
            "fetch_interval_minutes": group.shared.fetch_interval_minutes,
            "priority": group.shared.priority,
            "categories": None if categories is None else list(categories),
            "config": group.shared.config,
            "has_credentials": group.has_credentials,
            "members": group.members,
            "created_at": group.created_at,
            "updated_at": group.updated_at,
        }


class GroupPage(Record):
    groups: list[GroupRecord]
    next_cursor: str | None


class RefusedMemberRecord(Record):
    subscription_id: int
    message: str


class ChangedGroupRecord(GroupRecord):
    """How the members took it; `refused` names those whose fetcher does not take the config."""

    members_changed: int
    members_unchanged: int
    refused: list[RefusedMemberRecord]

    @classmethod
    def after(cls, group: Group, told: SpreadResult) -> "ChangedGroupRecord":
        return cls(
            **cls.fields_of(group),
            members_changed=told.changed,
            members_unchanged=told.unchanged,
            refused=[
                RefusedMemberRecord(subscription_id=which, message=why)
                for which, why in told.refused
            ],
        )


class DissolvedRecord(Record):
    group_id: int
    name: str
    subscriptions_kept: int


class ActionResultRecord(Record):
    """`done`, or not and why: `error` is the code that the same wish would get by itself."""

    subscription_id: int
    source_url: str | None
    done: bool
    error: str | None
    message: str | None
    next_visit_at: Moment | None
    retry_after_sec: float | None

    @classmethod
    def of(cls, result: MemberResult) -> "ActionResultRecord":
        return cls(
            subscription_id=result.subscription_id,
            source_url=result.source_url,
            done=result.error is None,
            error=result.error,
            message=result.message,
            next_visit_at=result.next_visit_at,
            retry_after_sec=result.retry_after_sec,
        )


class ActionReport(Record):
    """One line for every subscription. `next_cursor`: there are more members; ask again with it."""

    group_id: int
    action: str
    done: int
    refused: int
    results: list[ActionResultRecord]
    next_cursor: str | None
