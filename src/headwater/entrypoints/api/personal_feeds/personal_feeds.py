"""Routes of personal feeds, for OpenAPI to describe: the middleware answers before them."""

from typing import Annotated, Any, Literal

from fastapi import Query
from starlette.requests import Request
from starlette.responses import Response

from headwater.entrypoints.api.personal_feeds.feed_list import MEDIA_TYPE, OPML_PATH
from headwater.entrypoints.api.personal_feeds.feed_server import PersonalFeedServer
from headwater.entrypoints.api.router import Router
from headwater.personal_feeds.personal_feed import FEED_FORMATS, FeedFormatSpec

router = Router(tags=["personal"])

Token = Annotated[str, Query(description="A reader's token.")]
ItemLimitIn = Annotated[
    int | None, Query(ge=1, description="How many items, up to personal_limit_max.")
]
CategoryFilter = Annotated[
    list[str] | None, Query(description="Only these of the categories that the reader follows.")
]


RSS, ATOM, JSON = FEED_FORMATS["rss"], FEED_FORMATS["atom"], FEED_FORMATS["json"]


def _responses(format: FeedFormatSpec, kind: str = "string") -> dict[int | str, dict[str, Any]]:
    shown = {"schema": {"type": kind}}
    return {
        200: {"description": "The feed, newest first.", "content": {format.media_type: shown}},
        304: {"description": "Nothing has changed since then."},
    }


@router.get(RSS.path, right=None, response_class=Response, responses=_responses(RSS))
async def personal_rss(
    request: Request, token: Token, limit: ItemLimitIn = None, category: CategoryFilter = None
) -> Response:
    """A reader's own feed as RSS 2.0."""
    return await _answer(request)


@router.get(ATOM.path, right=None, response_class=Response, responses=_responses(ATOM))
async def personal_atom(
    request: Request, token: Token, limit: ItemLimitIn = None, category: CategoryFilter = None
) -> Response:
    """A reader's own feed as Atom 1.0."""
    return await _answer(request)


@router.get(JSON.path, right=None, response_class=Response, responses=_responses(JSON, "object"))
async def personal_json(
    request: Request, token: Token, limit: ItemLimitIn = None, category: CategoryFilter = None
) -> Response:
    """A reader's own feed as JSON Feed 1.1."""
    return await _answer(request)


@router.get(
    OPML_PATH,
    right=None,
    etag=False,
    response_class=Response,
    responses={
        200: {
            "description": "The whole feed, and one for each category.",
            "content": {MEDIA_TYPE: {"schema": {"type": "string"}}},
        }
    },
)
async def personal_list(
    request: Request,
    token: Token,
    format: Annotated[
        Literal["rss", "atom", "json"], Query(description="Of the feeds in the list.")
    ] = "rss",
    limit: ItemLimitIn = None,
    category: CategoryFilter = None,
) -> Response:
    """A reader's own feeds as OPML, to put into a feed reader. It holds the token."""
    return await _answer(request)


async def _answer(request: Request) -> Response:
    feed_server: PersonalFeedServer = request.app.state.feed_server
    answer = await feed_server.answer(request.scope)
    response = Response(answer.body, answer.status)
    response.raw_headers = answer.headers
    return response
