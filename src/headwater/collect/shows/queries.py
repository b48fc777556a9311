"""What may be asked of shows."""

from collections.abc import Sequence

import orjson

from headwater.collect.release import Kind
from headwater.collect.show import Show
from headwater.collect.slot import title_letters
from headwater.collect.tracking import TrackedShow
from headwater.errors import NotFound
from headwater.ports import Reader, Row, marks
from headwater.values.instant import from_micros

COLUMNS = (
    "id, title, year, season, episode_offset, episodes, titles, kind, specials, air_weekday,"
    " created_at, updated_at"
)


async def shows(view: Reader, *, after: int = 0, limit: int = 1_000) -> list[TrackedShow]:
    """In the order they were made."""
    rows = await view.rows(
        f"SELECT {COLUMNS} FROM shows WHERE id > ? ORDER BY id LIMIT ?", after, limit
    )
    return [show_of(row) for row in rows]


async def shows_by_id(view: Reader, ids: Sequence[int]) -> dict[int, TrackedShow]:
    if not ids:
        return {}
    rows = await view.rows(f"SELECT {COLUMNS} FROM shows WHERE id IN ({marks(len(ids))})", *ids)
    return {row.id: show_of(row) for row in rows}


async def collected(view: Reader) -> list[TrackedShow]:
    """Those that have a tracking which is enabled."""
    rows = await view.rows(
        f"SELECT {COLUMNS} FROM shows WHERE id IN"
        " (SELECT show_id FROM trackings WHERE enabled) ORDER BY id"
    )
    return [show_of(row) for row in rows]


async def names_elsewhere(view: Reader, show_id: int) -> frozenset[str]:
    """Names of the other shows that are collected, in letters."""
    others = [each.show for each in await collected(view) if each.id != show_id]
    return frozenset(title_letters(name) for show in others for name in show.titles) - {""}


async def names_of_earlier(view: Reader, there: TrackedShow, feed_id: str) -> frozenset[str]:
    """Names of earlier seasons that are collected from the same feed, in letters."""
    if there.show.season < 2:
        return frozenset()
    rows = await view.rows(
        f"SELECT {COLUMNS} FROM shows WHERE season BETWEEN 1 AND ? AND id IN"
        " (SELECT show_id FROM trackings WHERE enabled AND feed_id = ?)",
        there.show.season - 1,
        feed_id,
    )
    others = [show_of(row).show for row in rows]
    names = (name for other in others if not other.is_film for name in other.titles)
    return frozenset(map(title_letters, names)) - {""}


async def show(view: Reader, show_id: int, *, lock: bool = False) -> TrackedShow:
    """`lock`: nobody else decides anything for this show until we are done."""
    held = " FOR UPDATE" if lock and view.dialect == "postgresql" else ""
    row = await view.row(f"SELECT {COLUMNS} FROM shows WHERE id = ?{held}", show_id)
    if row is None:
        raise NotFound("There is no such show.", what="show")
    return show_of(row)


async def same_show(view: Reader, wanted: Show) -> TrackedShow | None:
    """One of the same title, season and year."""
    rows = await view.rows(
        f"SELECT {COLUMNS} FROM shows WHERE title = ? AND season = ?", wanted.title, wanted.season
    )
    return next((show_of(row) for row in rows if row.year == wanted.year), None)


def show_of(row: Row) -> TrackedShow:
    return TrackedShow(
        id=row.id,
        show=Show(
            title=row.title,
            year=row.year,
            season=row.season,
            episode_offset=row.episode_offset,
            episodes=row.episodes,
            titles=tuple(orjson.loads(row.titles)),
            main_kind=None if row.kind is None else Kind(row.kind),
            specials=orjson.loads(row.specials),
        ),
        air_weekday=row.air_weekday,
        created_at=from_micros(row.created_at),
        updated_at=from_micros(row.updated_at),
    )


async def seen(view: Reader, show_id: int, *, limit: int) -> Sequence[Row]:
    """What its trackings looked at, the newest first, but for what is certainly of another show."""
    return await view.rows(
        "SELECT r.id, r.candidate, r.release, r.slots, r.action, r.rule, r.reason, d.state,"
        " d.error, d.detail FROM releases r LEFT JOIN downloads d ON d.release_id = r.id"
        " WHERE r.tracking_id IN (SELECT id FROM trackings WHERE show_id = ?)"
        f" AND r.rule NOT IN ({marks(len(_STRANGERS))}) ORDER BY r.id DESC LIMIT ?",
        show_id,
        *_STRANGERS,
        limit,
    )


async def standing_titles(view: Reader, show_id: int) -> dict[str, str]:
    """Titles of the releases of its downloads, by the download's id as text."""
    rows = await view.rows(
        "SELECT d.id, r.title FROM downloads d JOIN releases r ON r.id = d.release_id"
        " WHERE d.show_id = ?",
        show_id,
    )
    return {str(row.id): row.title for row in rows}


_STRANGERS = ("other_show", "other_season", "other_kind", "extra", "nothing_to_fetch")
