"""Rows of shows in the database: read, inserted, changed and deleted."""

from collections.abc import Sequence
from datetime import datetime

import orjson

from headwater.anime.release import ReleaseKind
from headwater.anime.shows.show import Show, TrackedShow
from headwater.anime.shows.slot import comparable_title
from headwater.anime.stored_json import encode_json
from headwater.core.errors import ConflictError, NotFound
from headwater.core.ports import Row, SqlValue, Transaction, View, placeholders
from headwater.core.values.instant import from_micros, to_micros

COLUMNS = (
    "id, title, year, season, episode_offset, episodes, titles, kind, specials, air_weekday,"
    " created_at, updated_at"
)


async def list_shows(view: View, *, after: int = 0, limit: int = 1_000) -> list[TrackedShow]:
    """In the order of their creation."""
    rows = await view.rows(
        f"SELECT {COLUMNS} FROM shows WHERE id > ? ORDER BY id LIMIT ?", after, limit
    )
    return [show_from_row(row) for row in rows]


async def list_shows_by_id(view: View, ids: Sequence[int]) -> dict[int, TrackedShow]:
    if not ids:
        return {}
    rows = await view.rows(
        f"SELECT {COLUMNS} FROM shows WHERE id IN ({placeholders(len(ids))})", *ids
    )
    return {row.id: show_from_row(row) for row in rows}


async def list_tracked_shows(view: View) -> list[TrackedShow]:
    """The shows with an enabled tracking."""
    rows = await view.rows(
        f"SELECT {COLUMNS} FROM shows WHERE id IN"
        " (SELECT show_id FROM trackings WHERE enabled) ORDER BY id"
    )
    return [show_from_row(row) for row in rows]


async def list_names_of_other_shows(view: View, show_id: int) -> frozenset[str]:
    """Names of the other shows that are collected, made comparable."""
    others = [each.show for each in await list_tracked_shows(view) if each.id != show_id]
    return frozenset(comparable_title(name) for show in others for name in show.titles) - {""}


async def list_names_of_earlier_seasons(
    view: View, show: TrackedShow, feed_id: str
) -> frozenset[str]:
    """Names of earlier seasons that are collected from the same feed, made comparable."""
    if show.show.season < 2:
        return frozenset()
    rows = await view.rows(
        f"SELECT {COLUMNS} FROM shows WHERE season BETWEEN 1 AND ? AND id IN"
        " (SELECT show_id FROM trackings WHERE enabled AND feed_id = ?)",
        show.show.season - 1,
        feed_id,
    )
    others = [show_from_row(row).show for row in rows]
    names = (name for other in others if not other.is_film for name in other.titles)
    return frozenset(map(comparable_title, names)) - {""}


async def get_show(view: View, show_id: int, *, lock: bool = False) -> TrackedShow:
    """With `lock`, nobody else decides anything for this show until we are done."""
    held = " FOR UPDATE" if lock and view.dialect == "postgresql" else ""
    row = await view.row(f"SELECT {COLUMNS} FROM shows WHERE id = ?{held}", show_id)
    if row is None:
        raise NotFound("There is no such show.", what="show")
    return show_from_row(row)


async def find_same_show(view: View, show: Show) -> TrackedShow | None:
    """The show of the same title, season and year."""
    rows = await view.rows(
        f"SELECT {COLUMNS} FROM shows WHERE title = ? AND season = ?", show.title, show.season
    )
    return next((show_from_row(row) for row in rows if row.year == show.year), None)


def show_from_row(row: Row) -> TrackedShow:
    return TrackedShow(
        id=row.id,
        show=Show(
            title=row.title,
            year=row.year,
            season=row.season,
            episode_offset=row.episode_offset,
            episodes=row.episodes,
            titles=tuple(orjson.loads(row.titles)),
            main_kind=None if row.kind is None else ReleaseKind(row.kind),
            specials=orjson.loads(row.specials),
        ),
        air_weekday=row.air_weekday,
        created_at=from_micros(row.created_at),
        updated_at=from_micros(row.updated_at),
    )


async def list_seen_rows(view: View, show_id: int, *, limit: int) -> Sequence[Row]:
    """Releases that the show's trackings looked at, the newest first, without those that certainly
    belong to another show."""
    return await view.rows(
        "SELECT r.id, r.candidate, r.release, r.slots, r.action, r.rule, r.reason, d.state,"
        " d.error, d.detail FROM releases r LEFT JOIN downloads d ON d.release_id = r.id"
        " WHERE r.tracking_id IN (SELECT id FROM trackings WHERE show_id = ?)"
        f" AND r.rule NOT IN ({placeholders(len(_RULES_OF_OTHER_SHOWS))}) ORDER BY r.id DESC "
        f"LIMIT ?",
        show_id,
        *_RULES_OF_OTHER_SHOWS,
        limit,
    )


async def list_download_titles(view: View, show_id: int) -> dict[str, str]:
    """Titles of the releases of the show's downloads, by the download's id as text."""
    rows = await view.rows(
        "SELECT d.id, r.title FROM downloads d JOIN releases r ON r.id = d.release_id"
        " WHERE d.show_id = ?",
        show_id,
    )
    return {str(row.id): row.title for row in rows}


_RULES_OF_OTHER_SHOWS = ("other_show", "other_season", "other_kind", "extra", "nothing_to_fetch")
_NAMES = "title, year, season, episode_offset, episodes, titles, kind, specials, air_weekday"


async def insert_show(
    tx: Transaction, show: Show, air_weekday: int | None, now: datetime
) -> TrackedShow:
    """Conflict when there is one of the same title, season and year."""
    if (same := await find_same_show(tx, show)) is not None:
        raise ConflictError("This show is there already.", show_id=same.id)
    moment = to_micros(now)
    row = await tx.row(
        f"INSERT INTO shows ({_NAMES}, created_at, updated_at)"
        f" VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING {COLUMNS}",
        *_values(show, air_weekday),
        moment,
        moment,
    )
    assert row is not None
    return show_from_row(row)


async def update_show(
    tx: Transaction, show_id: int, show: Show, air_weekday: int | None, now: datetime
) -> TrackedShow:
    same = await find_same_show(tx, show)
    if same is not None and same.id != show_id:
        raise ConflictError("Another show has this title, season and year.", show_id=same.id)
    settings = ", ".join(f"{name.strip()} = ?" for name in _NAMES.split(","))
    row = await tx.row(
        f"UPDATE shows SET {settings}, updated_at = ? WHERE id = ? RETURNING {COLUMNS}",
        *_values(show, air_weekday),
        to_micros(now),
        show_id,
    )
    if row is None:
        raise NotFound("There is no such show.", what="show")
    return show_from_row(row)


async def delete_show(tx: Transaction, show_id: int) -> bool:
    """Delete a show with its trackings, decisions and records of downloads. Files stay."""
    return await tx.run("DELETE FROM shows WHERE id = ?", show_id) > 0


def _values(show: Show, air_weekday: int | None) -> list[SqlValue]:
    return [
        show.title,
        show.year,
        show.season,
        show.episode_offset,
        show.episodes,
        encode_json(show.titles),
        None if show.main_kind is None else show.main_kind.value,
        encode_json(dict(show.specials)),
        air_weekday,
    ]
