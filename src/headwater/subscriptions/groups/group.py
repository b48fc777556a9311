"""A group of subscriptions: the values that it shares, and how they meet a member's own values."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import datetime
from typing import Any

from headwater.core.errors import ConflictError
from headwater.core.values.keep import KEEP, Keep
from headwater.feeds.feed import USUAL_PRIORITY

MOST_MEMBERS = 10_000


@dataclass(frozen=True, slots=True)
class GroupValues:
    """The values that a group shares with its members; None: the group has no such value."""

    fetch_interval_minutes: int | None = None
    priority: int | None = None
    categories: tuple[str, ...] | None = None
    config: str | None = None

    def as_json(self) -> dict[str, Any]:
        """Only the values that the group has."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: value for name, value in values.items() if value is not None}

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> "GroupValues":
        categories = values.get("categories")
        return cls(
            fetch_interval_minutes=values.get("fetch_interval_minutes"),
            priority=values.get("priority"),
            categories=None if categories is None else tuple(categories),
            config=values.get("config"),
        )


NO_GROUP_VALUES = GroupValues()


@dataclass(frozen=True, slots=True)
class GroupChange:
    """A change of the shared values on its way to the members.

    It stands in the group's own row until the last member has the new values, so that a crash on
    the way leaves nothing half-done for ever. `before` are the values until this change; `after`
    is the feed number of the last member that has the new ones.
    """

    before: GroupValues
    after: int = 0


@dataclass(frozen=True, slots=True)
class Group:
    """`members` counts the active subscriptions in it; `spreading` is a change under way."""

    id: int
    name: str
    description: str | None
    shared: GroupValues
    spreading: GroupChange | None
    has_credentials: bool
    members: int
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class NewGroup:
    name: str
    description: str | None = None
    shared: GroupValues = field(default=NO_GROUP_VALUES)


@dataclass(frozen=True, slots=True)
class GroupPatch:
    """A change of a group. `shared` holds only the values that change; None takes one away."""

    name: str | Keep = KEEP
    description: str | Keep | None = KEEP
    shared: Mapping[str, Any] = field(default_factory=dict)


def patched_group(group: Group, patch: GroupPatch) -> Group:
    return replace(
        group,
        name=group.name if patch.name is KEEP else patch.name,
        description=group.description if patch.description is KEEP else patch.description,
        shared=replace(group.shared, **patch.shared),
    )


@dataclass(frozen=True, slots=True)
class FetchSettings:
    """How one member is fetched: the values that its group may have for it."""

    interval_sec: float | None = None
    priority: int = USUAL_PRIORITY
    categories: tuple[str, ...] = ()
    config: str | None = None


DEFAULT_FETCH_SETTINGS = FetchSettings()


def settings_after_change(
    member: FetchSettings, before: GroupValues, after: GroupValues
) -> FetchSettings:
    """A member's settings once its group's values are `after` instead of `before`.

    A member has no value of its own where it has the default, or the value of its group: there it
    follows the group. Any other value is its own and stays.
    """
    old, new = _fetch_settings_of(before), _fetch_settings_of(after)

    def followed(name: str) -> Any:
        value = getattr(member, name)
        is_own = value not in (getattr(DEFAULT_FETCH_SETTINGS, name), getattr(old, name))
        return value if is_own else getattr(new, name)

    return FetchSettings(**{field.name: followed(field.name) for field in fields(FetchSettings)})


def _fetch_settings_of(shared: GroupValues) -> FetchSettings:
    """The settings of a member that has no value of its own."""
    minutes = shared.fetch_interval_minutes
    return FetchSettings(
        interval_sec=None if minutes is None else minutes * 60.0,
        priority=USUAL_PRIORITY if shared.priority is None else shared.priority,
        categories=() if shared.categories is None else shared.categories,
        config=shared.config,
    )


def check_not_full(group: Group, joining: int = 1, most: int = MOST_MEMBERS) -> None:
    if group.members + joining > most:
        raise ConflictError(
            f"A group has at most {most} subscriptions.", group_id=group.id, members=group.members
        )
