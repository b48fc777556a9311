"""A tracking: one show that is collected from one feed, with a person's settings for it."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import datetime
from typing import Any

from headwater.anime.decide.filter import compile_pattern_lists
from headwater.anime.naming.safe_path import check_folder
from headwater.anime.shows.preferences import Preferences, check_preferences
from headwater.anime.shows.show import ShowPatch
from headwater.core.values.keep import KEEP, Keep


@dataclass(frozen=True, slots=True)
class Tracking:
    """`save_path` is a folder below the library. Releases from before `since` are not collected;
    with None all are. `feed_id` is the feed's public id. A removed tracking is disabled; its
    decisions and downloads stay known."""

    id: int
    show_id: int
    feed_id: str
    preferences: Preferences = field(default=Preferences())
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    packs: bool = False
    save_path: str = ""
    enabled: bool = True
    since: datetime | None = None
    created_at: datetime | None = None
    updated_at: datetime | None = None
    removed_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class TrackingPatch:
    """The fields to change. `preferences` has only those of its fields that were set."""

    preferences: Mapping[str, Any] = field(default_factory=dict)
    include: tuple[str, ...] | Keep = KEEP
    exclude: tuple[str, ...] | Keep = KEEP
    packs: bool | Keep = KEEP
    save_path: str | Keep = KEEP
    enabled: bool | Keep = KEEP
    since: datetime | Keep | None = KEEP

    def changes(self) -> dict[str, Any]:
        """The fields that were set, without the preferences."""
        values = {each.name: getattr(self, each.name) for each in fields(self)}
        del values["preferences"]
        return {name: value for name, value in values.items() if value is not KEEP}


@dataclass(frozen=True, slots=True)
class NewTracking:
    """A feed, by its id or its URL, and a show, by its id or by its fields. Fields that are not
    set are proposed from the feed. Without `back_catalogue`, only later releases are collected."""

    url: str | None = None
    feed_id: str | None = None
    show_id: int | None = None
    show: ShowPatch = field(default=ShowPatch())
    patch: TrackingPatch = field(default=TrackingPatch())
    back_catalogue: bool = False


def apply_tracking_patch(tracking: Tracking, patch: TrackingPatch) -> Tracking:
    """BadInput for values that could never be used; the old ones stay then."""
    preferences: Preferences = replace(tracking.preferences, **patch.preferences)
    after = replace(tracking, preferences=check_preferences(preferences), **patch.changes())
    compile_pattern_lists(after.include, after.exclude, "the tracking")
    return replace(after, save_path=check_folder(after.save_path))
