"""A tracking: the wish to collect a show from a feed, and everything a person may say of it."""

from dataclasses import dataclass, field
from datetime import datetime

from headwater.collect.priority import Preferences
from headwater.collect.show import Show


@dataclass(frozen=True, slots=True)
class TrackedShow:
    """A show as it is kept. `air_weekday`: 0 is Monday; None where nobody said."""

    id: int
    show: Show
    air_weekday: int | None
    created_at: datetime
    updated_at: datetime


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
