"""Shows over HTTP: what is collected, how it is numbered, and which episodes are here."""

from typing import Annotated

from fastapi import APIRouter, Query
from starlette.requests import Request
from starlette.responses import Response

from headwater import outlook, tracking
from headwater.collect.shows import queries
from headwater.entrypoints.api.asking import REFUSALS, At, Cursor, Limit, told
from headwater.entrypoints.api.cursors import cursor, numbers_of
from headwater.entrypoints.api.numbers import number
from headwater.entrypoints.api.once import Told, once
from headwater.entrypoints.api.tracking_models import NewShowIn, ShowIn
from headwater.entrypoints.api.tracking_records import (
    EpisodesRecord,
    RemovedShowRecord,
    ShowPage,
    ShowRecord,
)

router = APIRouter(tags=["shows"], responses=REFUSALS)


@router.get("/shows", response_model=ShowPage)
async def list_shows(
    at: At, limit: Limit = None, cursor_: Annotated[Cursor, Query(alias="cursor")] = None
) -> Response:
    """In the order they were made."""
    size = at.page_size(limit)
    (after,) = numbers_of(cursor_, "shows", 1) if cursor_ else (0,)
    async with at.engine.database.read() as view:
        found = await queries.shows(view, after=after, limit=size + 1)
    more = cursor("shows", found[size - 1].id) if len(found) > size else None
    return told(ShowPage(shows=[ShowRecord.of(each) for each in found[:size]], next_cursor=more))


@router.post("/shows", response_model=ShowRecord, status_code=201)
async def make_show(body: NewShowIn, request: Request, at: At) -> Response:
    """Most people need not: a new tracking makes its show."""

    async def effect(key: bytes | None) -> str:
        return str((await tracking.create_show(at.engine, body.wish(), idempotency=key)).id)

    async def tell(show_id: str) -> Told:
        return Told(201, await _show(at, int(show_id)), location=f"/shows/{show_id}")

    return await once(request, at.engine, effect, tell)


@router.get("/shows/{show_id}", response_model=ShowRecord)
async def show_show(show_id: str, at: At) -> Response:
    """One show."""
    return told(await _show(at, number(show_id, "show")))


@router.patch("/shows/{show_id}", response_model=ShowRecord)
async def change_show(show_id: str, body: ShowIn, at: At) -> Response:
    """Only what is named changes, and only for what comes: files in the library keep their
    names."""
    known = number(show_id, "show")
    return told(ShowRecord.of(await tracking.change_show(at.engine, known, body.wish())))


@router.delete("/shows/{show_id}", response_model=RemovedShowRecord)
async def remove_show(show_id: str, at: At) -> Response:
    """With all that is known of it; refused while it is tracked. Files stay where they are."""
    gone = await tracking.remove_show(at.engine, number(show_id, "show"))
    return told(RemovedShowRecord(id=gone.id, title=gone.show.title, removed=True))


@router.get("/shows/{show_id}/episodes", response_model=EpisodesRecord)
async def list_episodes(show_id: str, at: At) -> Response:
    """Every episode that is known of: here, on its way, or missing and why."""
    show, episodes = await outlook.season_of(at.engine, number(show_id, "show"))
    return told(EpisodesRecord.of(show, episodes))


async def _show(at: At, show_id: int) -> ShowRecord:
    async with at.engine.database.read() as view:
        return ShowRecord.of(await queries.show(view, show_id))
