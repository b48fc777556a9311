"""What people say of a tracking: a new one, or what is to change; checked before it is kept."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import datetime
from typing import Any

from headwater.collect.naming.inside import checked_folder
from headwater.collect.priority import Preferences, checked_preferences
from headwater.collect.rules import patterns_of
from headwater.collect.shows.wish import ShowWish
from headwater.collect.tracking import Tracking
from headwater.subscribe.feed import KEEP, Keep


@dataclass(frozen=True, slots=True)
class TrackingPatch:
    """What is to change. `preferences` has only those of its fields that were said."""

    preferences: Mapping[str, Any] = field(default_factory=dict)
    include: tuple[str, ...] | Keep = KEEP
    exclude: tuple[str, ...] | Keep = KEEP
    packs: bool | Keep = KEEP
    save_path: str | Keep = KEEP
    enabled: bool | Keep = KEEP
    since: datetime | Keep | None = KEEP

    def said(self) -> dict[str, Any]:
        values = {each.name: getattr(self, each.name) for each in fields(self)}
        del values["preferences"]
        return {name: value for name, value in values.items() if value is not KEEP}


@dataclass(frozen=True, slots=True)
class NewTracking:
    """A feed, by its id or its URL, and a show, by its id or by what is said of it; what is not
    said is proposed from the feed. Without `back_catalogue` only what comes out later is
    collected."""

    url: str | None = None
    feed_id: str | None = None
    show_id: int | None = None
    show: ShowWish = field(default=ShowWish())
    wish: TrackingPatch = field(default=TrackingPatch())
    back_catalogue: bool = False


def patched(tracking: Tracking, patch: TrackingPatch) -> Tracking:
    """BadInput for what could never be kept to: then the old words stay."""
    wanted: Preferences = replace(tracking.preferences, **patch.preferences)
    after = replace(tracking, preferences=checked_preferences(wanted), **patch.said())
    patterns_of(after.include, after.exclude, "the tracking")
    return replace(after, save_path=checked_folder(after.save_path))
