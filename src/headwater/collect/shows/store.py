"""Shows made, changed and let go."""

from datetime import datetime

from headwater.collect.kept import json_of
from headwater.collect.show import Show
from headwater.collect.shows.queries import COLUMNS, same_show, show_of
from headwater.collect.tracking import TrackedShow
from headwater.errors import Conflict, NotFound
from headwater.ports import Transaction, Value
from headwater.values.instant import to_micros

_NAMES = "title, year, season, episode_offset, episodes, titles, kind, specials, air_weekday"


async def add(tx: Transaction, show: Show, air_weekday: int | None, now: datetime) -> TrackedShow:
    """Conflict when there is one of the same title, season and year."""
    if (there := await same_show(tx, show)) is not None:
        raise Conflict("This show is there already.", show_id=there.id)
    moment = to_micros(now)
    row = await tx.row(
        f"INSERT INTO shows ({_NAMES}, created_at, updated_at)"
        f" VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING {COLUMNS}",
        *_values(show, air_weekday),
        moment,
        moment,
    )
    assert row is not None
    return show_of(row)


async def change(
    tx: Transaction, show_id: int, show: Show, air_weekday: int | None, now: datetime
) -> TrackedShow:
    twin = await same_show(tx, show)
    if twin is not None and twin.id != show_id:
        raise Conflict("Another show has this title, season and year.", show_id=twin.id)
    settings = ", ".join(f"{name.strip()} = ?" for name in _NAMES.split(","))
    row = await tx.row(
        f"UPDATE shows SET {settings}, updated_at = ? WHERE id = ? RETURNING {COLUMNS}",
        *_values(show, air_weekday),
        to_micros(now),
        show_id,
    )
    if row is None:
        raise NotFound("There is no such show.", what="show")
    return show_of(row)


async def remove(tx: Transaction, show_id: int) -> bool:
    """With its trackings, decisions and records of downloads. Files stay where they are."""
    return await tx.run("DELETE FROM shows WHERE id = ?", show_id) > 0


def _values(show: Show, air_weekday: int | None) -> list[Value]:
    return [
        show.title,
        show.year,
        show.season,
        show.episode_offset,
        show.episodes,
        json_of(show.titles),
        None if show.main_kind is None else show.main_kind.value,
        json_of(dict(show.specials)),
        air_weekday,
    ]
