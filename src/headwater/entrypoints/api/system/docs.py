"""Docs of the API: OpenAPI for programs, and one page for people that works offline."""

from base64 import b64encode
from collections.abc import Iterator
from hashlib import sha256
from html import escape
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from headwater.entrypoints.api.router import Router

router = Router(tags=["about"])

STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:56rem;margin:2rem auto;padding:0 1rem;"
    "color:#1b2733;background:#fff}h2{border-bottom:1px solid #ccd;margin-top:2.5rem}"
    "h3{font:600 1rem ui-monospace,monospace;margin:1.5rem 0 .3rem}code{font-size:.92em}"
    "table{border-collapse:collapse;width:100%}td,th{text-align:left;vertical-align:top;"
    "padding:.2rem .6rem .2rem 0;border-bottom:1px solid #eef}.verb{color:#0b6e6e}"
    "@media(prefers-color-scheme:dark){body{background:#11181f;color:#d6dee6}.verb{color:#5cc}}"
)
STYLE_HASH = b64encode(sha256(STYLE.encode()).digest()).decode()
POLICY = f"default-src 'none'; style-src 'sha256-{STYLE_HASH}'; frame-ancestors 'none'"


@router.get("/openapi.json", right="read", response_model=dict[str, Any])
async def openapi(request: Request) -> Response:
    """This API as OpenAPI."""
    return JSONResponse(request.app.openapi())


@router.get(
    "/docs",
    right="read",
    response_class=Response,
    responses={200: {"content": {"text/html": {"schema": {"type": "string"}}}}},
)
async def docs(request: Request) -> Response:
    """This API as a page for people; it needs nothing from anywhere else."""
    page = render_docs_page(request.app.openapi())
    headers = {"content-security-policy": POLICY}
    return Response(page, media_type="text/html; charset=utf-8", headers=headers)


def render_docs_page(api: dict[str, Any]) -> str:
    """The page for people. Everything in it is escaped, and it has no script."""
    name = escape(f"{api['info']['title']} {api['info']['version']}")
    return "".join(
        [
            f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{name}</title>',
            '<meta name="viewport" content="width=device-width,initial-scale=1">',
            f"<style>{STYLE}</style></head><body><h1>{name}</h1>",
            f"<p>{escape(api['info'].get('description', ''))}</p>",
            '<p>The same for programs: <a href="/openapi.json">/openapi.json</a></p>',
            *_operations(api),
            "<h2>Records</h2>",
            *_records(api),
            "</body></html>",
        ]
    )


def _operations(api: dict[str, Any]) -> Iterator[str]:
    section = None
    for path, verbs in api["paths"].items():
        for verb, operation in verbs.items():
            tag = operation.get("tags", ["other"])[0]
            if tag != section:
                section = tag
                yield f"<h2>{escape(tag)}</h2>"
            yield f'<h3><span class="verb">{escape(verb.upper())}</span> {escape(path)}</h3>'
            yield f"<p>{escape(operation.get('description', operation.get('summary', '')))}</p>"
            yield from _table(_parameters(operation))


def _parameters(operation: dict[str, Any]) -> Iterator[tuple[str, str, str]]:
    for parameter in operation.get("parameters", []):
        about = parameter.get("description", "")
        yield parameter["name"], _kind(parameter["schema"]), f"{parameter['in']}. {about}"
    for media in operation.get("requestBody", {}).get("content", {}).values():
        yield "body", _kind(media["schema"]), "JSON"


def _records(api: dict[str, Any]) -> Iterator[str]:
    for name, schema in sorted(api["components"]["schemas"].items()):
        yield f'<h3 id="{escape(name)}">{escape(name)}</h3>'
        yield f"<p>{escape(schema.get('description', ''))}</p>"
        yield from _table(
            (field, _kind(about), about.get("description", ""))
            for field, about in schema.get("properties", {}).items()
        )


def _table(rows: Iterator[tuple[str, str, str]]) -> Iterator[str]:
    lines = [
        f"<tr><td><code>{escape(name)}</code></td><td>{escape(kind)}</td>"
        f"<td>{escape(about)}</td></tr>"
        for name, kind, about in rows
    ]
    if lines:
        yield f"<table>{''.join(lines)}</table>"


def _kind(schema: dict[str, Any]) -> str:
    """A type in a few words."""
    if "$ref" in schema:
        return str(schema["$ref"].rsplit("/", 1)[-1])
    if "anyOf" in schema:
        return " or ".join(_kind(choice) for choice in schema["anyOf"])
    if "enum" in schema:
        return " | ".join(str(value) for value in schema["enum"])
    if schema.get("type") == "array":
        return f"list of {_kind(schema.get('items', {}))}"
    kind = str(schema.get("type", "anything"))
    return f"{kind} ({schema['format']})" if "format" in schema else kind
