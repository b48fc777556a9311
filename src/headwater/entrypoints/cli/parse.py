"""`headwater parse`: one feed as JSON, from a file, a URL or stdin; no service, no database."""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import orjson
import typer

from headwater.core.errors import BadInput
from headwater.core.values.instant import rfc3339
from headwater.entrypoints.cli.options import Json, local_now, session_of
from headwater.entrypoints.cli.render import details_table, safe_text, table
from headwater.entrypoints.cli.session import Session
from headwater.entrypoints.cli.times import local_time
from headwater.entrypoints.lazy_import import lazy_import
from headwater.parse.document import Document
from headwater.settings import Settings


def parse_one(
    ctx: typer.Context,
    source: Annotated[str, typer.Argument(metavar="FILE|URL|-", help="- is stdin.")],
    json: Json = False,
) -> None:
    """Read one feed and show what is in it; nothing is stored."""
    session = session_of(ctx, as_json=json)
    document = _document(source, session.settings)
    if json:
        sys.stdout.buffer.write(encode_document(document) + b"\n")
    else:
        _show(session, document)


def encode_document(document: Document) -> bytes:
    """Every field of the document, under its own name."""
    return orjson.dumps(
        document, default=_plain_value, option=orjson.OPT_INDENT_2 | orjson.OPT_UTC_Z
    )


def _plain_value(value: Any) -> Any:
    """Named pairs and read-only mappings, which JSON does not know."""
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return value._asdict()
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(type(value).__name__)


def _document(source: str, settings: Settings) -> Document:
    given: Document
    if "://" in source and not Path(source).exists():
        given = lazy_import("headwater.entrypoints.cli.parse_document:fetch_document")(
            source, settings
        )
    else:
        given = lazy_import("headwater.entrypoints.cli.parse_document:read_document")(
            _read(source, settings), settings
        )
    return given


def _read(source: str, settings: Settings) -> bytes:
    """A file or stdin, and no more of it than a document may have."""
    most = settings.max_body_bytes
    try:
        if source == "-":
            body = sys.stdin.buffer.read(most + 1)
        else:
            with Path(source).open("rb") as file:
                body = file.read(most + 1)
    except OSError as trouble:
        raise BadInput(f"{source} cannot be read: {trouble.strerror}.", given=source) from trouble
    if len(body) > most:
        raise BadInput(f"More than {most:,} bytes; the setting max_body_bytes says how many.")
    return body


def _show(session: Session, document: Document) -> None:
    feed, now = document.feed, local_now()
    session.out.print(
        details_table(
            [
                ("title", safe_text(feed.title.value if feed.title else None)),
                ("page", safe_text(feed.link)),
                ("kind", safe_text(f"{document.format} {document.version or ''}")),
                ("entries", str(len(document.entries))),
                ("problems", safe_text(", ".join(code for code, _ in document.problems) or "none")),
            ]
        )
    )
    shown = table("when", "title", "link", wide=("title", "link"))
    for entry in document.entries:
        when = entry.published or entry.updated
        shown.add_row(
            local_time(rfc3339(when) if when else None, now),
            safe_text(entry.title.value if entry.title else entry.uid, 120),
            safe_text(entry.link),
        )
    session.out.print(shown)
