"""Shows over HTTP: which shows are collected, how each is numbered, and its episodes."""

from typing import Annotated

from headwater.anime import tracking_commands
from headwater.anime.episodes import preview
from headwater.anime.shows import show_rows
from headwater.entrypoints.api.anime.show_records import (
    EpisodesRecord,
    NewShowIn,
    RemovedShowRecord,
    ShowIn,
    ShowPage,
    ShowRecord,
)
from headwater.entrypoints.api.dependencies import App, ShowId, View
from headwater.entrypoints.api.idempotency import IdempotencyKey
from headwater.entrypoints.api.paging import Page, paging
from headwater.entrypoints.api.router import Router

router = Router(tags=["shows"])


@router.get("/shows", right="read")
async def list_shows(view: View, page: Annotated[Page, paging("shows")]) -> ShowPage:
    """In the order they were made."""
    shows = await show_rows.list_shows(view, after=page.after, limit=page.size + 1)
    shown, next_cursor = page.cut(shows)
    return ShowPage(shows=[ShowRecord.of_tracked(show) for show in shown], next_cursor=next_cursor)


@router.get("/shows/{show_id}", right="read")
async def show_show(show_id: ShowId, view: View) -> ShowRecord:
    """One show."""
    return ShowRecord.of_tracked(await show_rows.get_show(view, show_id))


@router.post("/shows", right="admin", status_code=201, location="/shows/{id}", again=show_show)
async def make_show(body: NewShowIn, app: App, key: IdempotencyKey) -> ShowRecord:
    """Most people do not need this: a new tracking makes its show."""
    return ShowRecord.of_tracked(
        await tracking_commands.create_show(app.database, body.patch(), idempotency=key)
    )


@router.patch("/shows/{show_id}", right="admin")
async def change_show(show_id: ShowId, body: ShowIn, app: App) -> ShowRecord:
    """Only what is named changes, and only for what comes: files in the library keep their
    names."""
    return ShowRecord.of_tracked(
        await tracking_commands.change_show(app.database, show_id, body.patch())
    )


@router.delete("/shows/{show_id}", right="admin")
async def remove_show(show_id: ShowId, app: App) -> RemovedShowRecord:
    """Deletes the show and everything that is known of it; refused while it is tracked. Files stay
    where they are."""
    show = await tracking_commands.remove_show(app.database, show_id)
    return RemovedShowRecord(id=show.id, title=show.show.title, removed=True)


@router.get("/shows/{show_id}/episodes", right="read")
async def list_episodes(show_id: ShowId, app: App) -> EpisodesRecord:
    """Every known episode: here, on its way, or missing and why."""
    show, episodes = await preview.get_show_with_episodes(app.database, show_id)
    return EpisodesRecord.of(show, episodes)
