"""The pages of the console: a few files, read once. Their content comes from the API."""

from importlib.resources import files
from pathlib import PurePath

from starlette.responses import Response

from headwater.core.errors import NotFound
from headwater.entrypoints.api.router import Router

PAGE = "index.html"

KINDS = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:;"
    " connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none';"
    " require-trusted-types-for 'script'; trusted-types 'none'"
)
"""Only our own files run, and even they cannot make markup out of text."""

FILES: dict[str, tuple[str, bytes]] = {
    file.name: (KINDS[PurePath(file.name).suffix], file.read_bytes())
    for file in files(__package__).joinpath("static").iterdir()
    if PurePath(file.name).suffix in KINDS
}
"""Name → media type and bytes. A request chooses from these and never names a path."""

router = Router(tags=["console"])


@router.get(
    "/",
    right="read",
    asks_browser=True,
    response_class=Response,
    responses={200: {"content": {"text/html": {"schema": {"type": "string"}}}}},
)
async def console() -> Response:
    """The console: a page for people who look after Headwater."""
    return _file(PAGE)


@router.get(
    "/console/{name}",
    right="read",
    asks_browser=True,
    response_class=Response,
    responses={
        200: {
            "content": {
                kind.partition(";")[0]: {"schema": {"type": "string"}} for kind in KINDS.values()
            }
        }
    },
)
async def console_file(name: str) -> Response:
    """A file of the console."""
    return _file(name)


def _file(name: str) -> Response:
    if name not in FILES:
        raise NotFound("There is nothing here.", what="file")
    kind, body = FILES[name]
    return Response(body, media_type=kind, headers={"content-security-policy": POLICY})
