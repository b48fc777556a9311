"""Dependencies of routes: the app's context, a view of the database, the caller, an id."""

import asyncio
from collections import Counter
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from typing import Annotated
from uuid import UUID

from fastapi import Depends, Query
from pydantic import AfterValidator, PlainValidator
from starlette.requests import Request

from headwater.anime.services import ReleaseServices
from headwater.auth.tokens import Credential
from headwater.core.errors import NotFound
from headwater.core.ports import Clock, Database
from headwater.core.ports import View as DatabaseView
from headwater.core.values import ids
from headwater.entrypoints.api.events.stream import SharedStreams
from headwater.entrypoints.api.route_view import open_view
from headwater.feeds.services import FeedServices
from headwater.personal_feeds.services import PersonalServices
from headwater.settings import Settings
from headwater.sinks.services import SinkServices
from headwater.subscriptions.services import RegistryServices
from headwater.wiring.services import Services

USUAL_PAGE = 50


@dataclass(frozen=True, slots=True)
class ApiContext:
    """The services, settings and shared streams that routes work with; one per app.

    All event streams share `live`. `streams` counts the streams of each fetcher.
    """

    services: Services
    settings: Settings
    live: SharedStreams
    streams: Counter[int] = field(default_factory=Counter)

    @property
    def database(self) -> Database:
        return self.services.database

    @property
    def clock(self) -> Clock:
        return self.services.clock

    @property
    def feeds(self) -> FeedServices:
        return self.services.feeds

    @property
    def registry(self) -> RegistryServices:
        return self.services.registry

    @property
    def sinks(self) -> SinkServices:
        return self.services.sinks

    @property
    def personal(self) -> PersonalServices:
        return self.services.personal

    @property
    def releases(self) -> ReleaseServices:
        return self.services.releases

    @property
    def closing(self) -> asyncio.Event:
        """Set when the service stops: then event streams end."""
        return self.live.closing

    @property
    def gap(self) -> timedelta:
        """The shortest time between two visits that a person may ask for."""
        return timedelta(seconds=self.settings.refetch_min_seconds)

    def page_size(self, limit: int | None) -> int:
        """A limit above the largest page gives a full page: the cursor leads on."""
        return min(USUAL_PAGE if limit is None else limit, self.settings.api_max_page)


def _context_of(request: Request) -> ApiContext:
    context: ApiContext = request.app.state.context
    return context


def _without_nul(text: str) -> str:
    if "\x00" in text:
        raise ValueError("must not have a NUL in it")
    return text


App = Annotated[ApiContext, Depends(_context_of)]


async def _view_of(request: Request, app: App) -> DatabaseView:
    return await open_view(request, app.database)


def _caller_of(request: Request) -> Credential:
    credential: Credential = request.scope["credential"]
    return credential


View = Annotated[DatabaseView, Depends(_view_of)]
"""A view of the database, closed before the answer is sent. Only for routes that write nothing: a
route that writes would wait for a second connection while it holds this one."""
Caller = Annotated[Credential, Depends(_caller_of)]
"""The credential of the caller. `caller.name` is the name in histories."""
Limit = Annotated[int | None, Query(ge=1, le=1_000_000, description="How many at most.")]
Cursor = Annotated[str | None, Query(description="`next_cursor` of the page before.")]
TextWithoutNul = Annotated[str, AfterValidator(_without_nul)]
ReaderTokenIn = Annotated[
    str | None, Query(description="A reader's own token, where no API token is sent.")
]
"""Middleware has checked this token before any route is reached."""
MomentIn = Annotated[str | None, Query(description="RFC 3339, such as 2026-01-31T08:00:00Z.")]


def parse_public_id(text: str, what: str) -> str:
    """An id of a feed or a raw fetch is a UUID. Any other text is NotFound, without a query."""
    try:
        plain: str | None = str(UUID(text))
    except ValueError:
        plain = None
    if plain is None or plain != text.lower():
        raise NotFound(f"There is no such {what.replace('_', ' ')}.", what=what)
    return plain


LARGEST_ID = 2**63 - 1


def parse_number(text: str, what: str) -> int:
    """An id that is a number. Any other text is NotFound, without a query."""
    if not is_number(text) or int(text[:20]) > LARGEST_ID:
        raise NotFound(f"There is no such {what}.", what=what)
    return int(text)


def is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and (text == "0" or not text.startswith("0"))


def _number_of(what: str) -> PlainValidator:
    return PlainValidator(partial(parse_number, what=what), json_schema_input_type=str)


def _public_id_of(what: str) -> PlainValidator:
    return PlainValidator(partial(parse_public_id, what=what), json_schema_input_type=str)


# Ids in a path. One that cannot exist is answered with our own 404, before the body is looked at.
ConflictId = Annotated[int, _number_of("conflict")]
DownloadId = Annotated[int, _number_of("download")]
FeedId = Annotated[ids.FeedId, _public_id_of("feed")]
FetcherId = Annotated[ids.FetcherId, _number_of("fetcher")]
GroupId = Annotated[int, _number_of("group")]
RawFetchId = Annotated[str, _public_id_of("raw_fetch")]
ReleaseId = Annotated[int, _number_of("release")]
ShowId = Annotated[int, _number_of("show")]
SubscriptionId = Annotated[int, _number_of("subscription")]
TokenId = Annotated[int, _number_of("token")]
TrackingId = Annotated[int, _number_of("tracking")]
