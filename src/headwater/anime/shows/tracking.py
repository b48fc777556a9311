"""A tracking: the wish to collect a show from a feed, and everything a person may say of it."""

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
    """`save_path` is a folder below the library. What came out before `since` is not collected;
    None: everything is. `feed_id` is the feed's public id. One that was removed is disabled; what
    it decided and downloaded stays known."""

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
    show: ShowPatch = field(default=ShowPatch())
    wish: TrackingPatch = field(default=TrackingPatch())
    back_catalogue: bool = False


def apply_tracking_patch(tracking: Tracking, patch: TrackingPatch) -> Tracking:
    """BadInput for what could never be kept to: then the old words stay."""
    wanted: Preferences = replace(tracking.preferences, **patch.preferences)
    after = replace(tracking, preferences=check_preferences(wanted), **patch.said())
    compile_pattern_lists(after.include, after.exclude, "the tracking")
    return replace(after, save_path=check_folder(after.save_path))
