"""A group of subscriptions: what it says for all of them, and what each of them says for itself."""

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
    """What a group says for its members; None where it says nothing."""

    fetch_interval_minutes: int | None = None
    priority: int | None = None
    categories: tuple[str, ...] | None = None
    config: str | None = None

    def as_json(self) -> dict[str, Any]:
        """Only what is said."""
        said = {each.name: getattr(self, each.name) for each in fields(self)}
        return {name: value for name, value in said.items() if value is not None}

    @classmethod
    def from_json(cls, said: Mapping[str, Any]) -> "GroupValues":
        categories = said.get("categories")
        return cls(
            fetch_interval_minutes=said.get("fetch_interval_minutes"),
            priority=said.get("priority"),
            categories=None if categories is None else tuple(categories),
            config=said.get("config"),
        )


NO_GROUP_VALUES = GroupValues()


@dataclass(frozen=True, slots=True)
class GroupChange:
    """A change on its way to the members: what was said before, and how far it has come.

    It stands in the group's own row until every member knows, so that a crash on the way leaves
    nothing half-done for ever. `after` is the feed number of the last member that knows.
    """

    before: GroupValues
    after: int = 0


@dataclass(frozen=True, slots=True)
class Group:
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
    """What is to change; `shared` holds only what was said, and None there says nothing more."""

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
    """How one member is fetched: the values that a group may speak about."""

    interval_sec: float | None = None
    priority: int = USUAL_PRIORITY
    categories: tuple[str, ...] = ()
    config: str | None = None


DEFAULT_FETCH_SETTINGS = FetchSettings()


def settings_after_change(
    held: FetchSettings, before: GroupValues, after: GroupValues
) -> FetchSettings:
    """A member's values when its group said `before` and says `after` now.

    A value that is the usual one, or the one the group said, is not the member's own: it follows.
    Any other is its own and stays.
    """
    old, new = _fetch_settings_of(before), _fetch_settings_of(after)
    return FetchSettings(
        *(
            getattr(new, each.name)
            if getattr(held, each.name)
            in (getattr(DEFAULT_FETCH_SETTINGS, each.name), getattr(old, each.name))
            else getattr(held, each.name)
            for each in fields(FetchSettings)
        )
    )


def _fetch_settings_of(shared: GroupValues) -> FetchSettings:
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
