"""Shows over HTTP: what is collected, how it is numbered, and which episodes are here."""

from typing import Annotated, Any, Literal

from fastapi import Query
from pydantic import AfterValidator, Field, StrictInt
from starlette.responses import Response

from headwater.anime import tracking_commands
from headwater.anime.episodes import preview
from headwater.anime.episodes.episodes import Episode
from headwater.anime.release import ReleaseKind
from headwater.anime.shows import show_rows
from headwater.anime.shows.show import (
    LONGEST_TITLE,
    MOST_EPISODES,
    MOST_SEASON,
    MOST_TITLES,
    Show,
    ShowPatch,
    TrackedShow,
)
from headwater.entrypoints.api.anime.releases import SlotRecord
from headwater.entrypoints.api.dependencies import (
    App,
    Cursor,
    Limit,
    RouteContext,
    ShowId,
    View,
    json_response,
    parse_number,
)
from headwater.entrypoints.api.idempotency import IdempotencyKey
from headwater.entrypoints.api.models import Strict, check_printable
from headwater.entrypoints.api.paging import cursor, decode_cursor
from headwater.entrypoints.api.records import Moment, Record
from headwater.entrypoints.api.router import Router

MOST_SPECIALS = 500
ShowTitle = Annotated[
    str, Field(min_length=1, max_length=LONGEST_TITLE), AfterValidator(check_printable)
]
Year = Annotated[StrictInt, Field(ge=1900, le=2999)]
Season = Annotated[StrictInt, Field(ge=0, le=MOST_SEASON)]
Offset = Annotated[StrictInt, Field(ge=-MOST_EPISODES, le=MOST_EPISODES)]
Episodes = Annotated[StrictInt, Field(ge=1, le=MOST_EPISODES)]
Weekday = Annotated[StrictInt, Field(ge=0, le=6, description="0 is Monday, as in Japan.")]
Special = Annotated[StrictInt, Field(ge=0, le=MOST_EPISODES)]
Label = Annotated[str, Field(min_length=1, max_length=32)]
MainKind = Literal["TV", "Movie", "OVA", "OAD", "ONA", "SP"]


class ShowIn(Strict):
    """What is said of a show; for a new tracking the feed proposes the rest."""

    title: ShowTitle = "a title"
    year: Year | None = None
    season: Season = 1
    episode_offset: Offset = Field(0, description="Added to the number in a title.")
    episodes: Episodes | None = Field(None, description="How many the season has.")
    titles: Annotated[list[ShowTitle], Field(max_length=MOST_TITLES)] = Field(
        default=[], description="What its releases are called; empty: all of the feed is this show."
    )
    kind: MainKind | None = Field(None, description="What is collected as the show itself.")
    specials: Annotated[dict[Label, Special], Field(max_length=MOST_SPECIALS)] = Field(
        default={}, description="Numbers in Season 00, such as 12.5 or OVA1."
    )
    air_weekday: Weekday | None = None

    def wish(self) -> ShowPatch:
        said: dict[str, Any] = {name: getattr(self, name) for name in self.model_fields_set}
        if "titles" in said:
            said["titles"] = tuple(said["titles"])
        if "kind" in said:
            kind = said.pop("kind")
            said["main_kind"] = None if kind is None else ReleaseKind(kind)
        return ShowPatch(**said)


class NewShowIn(ShowIn):
    """A show needs a title."""

    title: ShowTitle


def show_fields(show: Show) -> dict[str, Any]:
    return {
        "title": show.title,
        "year": show.year,
        "season": show.season,
        "episode_offset": show.episode_offset,
        "episodes": show.episodes,
        "titles": list(show.titles),
        "kind": show.main_kind,
        "specials": dict(show.specials),
    }


class ProposedShowRecord(Record):
    """A show as a feed proposes it."""

    title: str
    year: int | None
    season: int
    episode_offset: int
    episodes: int | None
    titles: list[str]
    kind: str | None
    specials: dict[str, int]


class ShowRecord(ProposedShowRecord):
    """`air_weekday`: 0 is Monday."""

    id: int
    air_weekday: int | None
    created_at: Moment
    updated_at: Moment

    @classmethod
    def of(cls, each: TrackedShow) -> "ShowRecord":
        return cls(
            id=each.id,
            air_weekday=each.air_weekday,
            created_at=each.created_at,
            updated_at=each.updated_at,
            **show_fields(each.show),
        )


class ShowPage(Record):
    shows: list[ShowRecord]
    next_cursor: str | None


class RemovedShowRecord(Record):
    id: int
    title: str
    removed: bool


class EpisodeRecord(Record):
    """`release_id` is of a release that could be taken, and `reason` why it was not."""

    slot: SlotRecord
    state: Literal["here", "coming", "missing"]
    came_out: Moment | None
    title: str | None
    release_id: int | None
    reason: str | None

    @classmethod
    def of(cls, each: Episode) -> "EpisodeRecord":
        return cls(
            slot=SlotRecord.of(each.slot),
            state=each.state,
            came_out=each.came_out,
            title=each.title,
            release_id=each.release_id,
            reason=each.reason,
        )


class EpisodesRecord(Record):
    """In order; `here` and `coming` count them."""

    show_id: int
    title: str
    season: int
    here: int
    coming: int
    missing: int
    episodes: list[EpisodeRecord]

    @classmethod
    def of(
        cls, show: TrackedShow, every: list[Episode], *, only_missing: bool = False
    ) -> "EpisodesRecord":
        states = [each.state for each in every]
        told = [each for each in every if each.state == "missing" or not only_missing]
        return cls(
            show_id=show.id,
            title=show.show.title,
            season=show.show.season,
            here=states.count("here"),
            coming=states.count("coming"),
            missing=states.count("missing"),
            episodes=[EpisodeRecord.of(each) for each in told],
        )


router = Router(tags=["shows"])


@router.get("/shows", right="read", response_model=ShowPage)
async def list_shows(
    at: RouteContext, limit: Limit = None, cursor_: Annotated[Cursor, Query(alias="cursor")] = None
) -> Response:
    """In the order they were made."""
    size = at.page_size(limit)
    (after,) = decode_cursor(cursor_, "shows", 1) if cursor_ else (0,)
    async with at.database.read() as view:
        found = await show_rows.list_shows(view, after=after, limit=size + 1)
    more = cursor("shows", found[size - 1].id) if len(found) > size else None
    return json_response(
        ShowPage(shows=[ShowRecord.of(each) for each in found[:size]], next_cursor=more)
    )


@router.get("/shows/{show_id}", right="read")
async def show_show(show_id: ShowId, view: View) -> ShowRecord:
    """One show."""
    return ShowRecord.of(await show_rows.get_show(view, show_id))


@router.post("/shows", right="admin", status_code=201, location="/shows/{id}", again=show_show)
async def make_show(body: NewShowIn, app: App, key: IdempotencyKey) -> ShowRecord:
    """Most people need not: a new tracking makes its show."""
    return ShowRecord.of(
        await tracking_commands.create_show(app.database, body.wish(), idempotency=key)
    )


@router.patch("/shows/{show_id}", right="admin", response_model=ShowRecord)
async def change_show(show_id: str, body: ShowIn, at: RouteContext) -> Response:
    """Only what is named changes, and only for what comes: files in the library keep their
    names."""
    known = parse_number(show_id, "show")
    return json_response(
        ShowRecord.of(await tracking_commands.change_show(at.database, known, body.wish()))
    )


@router.delete("/shows/{show_id}", right="admin", response_model=RemovedShowRecord)
async def remove_show(show_id: str, at: RouteContext) -> Response:
    """With all that is known of it; refused while it is tracked. Files stay where they are."""
    gone = await tracking_commands.remove_show(at.database, parse_number(show_id, "show"))
    return json_response(RemovedShowRecord(id=gone.id, title=gone.show.title, removed=True))


@router.get("/shows/{show_id}/episodes", right="read", response_model=EpisodesRecord)
async def list_episodes(show_id: str, at: RouteContext) -> Response:
    """Every episode that is known of: here, on its way, or missing and why."""
    show, episodes = await preview.get_show_with_episodes(
        at.database, parse_number(show_id, "show")
    )
    return json_response(EpisodesRecord.of(show, episodes))
