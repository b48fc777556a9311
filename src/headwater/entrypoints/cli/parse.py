"""`headwater parse`: read one feed from a file, a URL or stdin, without service or database."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import orjson
import typer
from rich.console import Group, RenderableType

from headwater.core.errors import BadInput
from headwater.core.values.instant import rfc3339
from headwater.entrypoints.cli.command import Commands
from headwater.entrypoints.cli.files import read_input, write_output
from headwater.entrypoints.cli.render import details_table, safe_text, table
from headwater.entrypoints.cli.session import Session
from headwater.entrypoints.cli.times import local_now, local_time
from headwater.entrypoints.lazy_import import lazy_module
from headwater.parse.document import Document
from headwater.settings import Settings

commands = Commands()


@commands.command()
def parse(
    session: Session,
    source: Annotated[str, typer.Argument(metavar="FILE|URL|-", help="- is stdin.")],
) -> None:
    """Read one feed and show what is in it; nothing is stored."""
    document = _read_document(source, session.settings)
    if session.as_json:
        write_output(encode_document(document) + b"\n")
    else:
        session.out.print(document_and_entries(document))


def encode_document(document: Document) -> bytes:
    """Every field of the document, under its own name."""
    return orjson.dumps(
        document, default=_plain_value, option=orjson.OPT_INDENT_2 | orjson.OPT_UTC_Z
    )


def _plain_value(value: Any) -> Any:
    """Convert named tuples and read-only mappings, which JSON does not know."""
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return value._asdict()
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(type(value).__name__)


def _read_document(source: str, settings: Settings) -> Document:
    # It loads the web client and the parser.
    parse_document = lazy_module("headwater.entrypoints.cli.parse_document")
    document: Document
    if "://" in source and not Path(source).exists():
        document = parse_document.fetch_document(source, settings)
    else:
        document = parse_document.read_document(_read(source, settings), settings)
    return document


def _read(source: str, settings: Settings) -> bytes:
    most = settings.max_body_bytes
    body = read_input(source, most)
    if len(body) > most:
        raise BadInput(f"More than {most:,} bytes; the setting max_body_bytes says how many.")
    return body


def document_and_entries(document: Document) -> RenderableType:
    feed, now = document.feed, local_now()
    details = details_table(
        [
            ("title", safe_text(feed.title.value if feed.title else None)),
            ("page", safe_text(feed.link)),
            ("kind", safe_text(f"{document.format} {document.version or ''}")),
            ("entries", str(len(document.entries))),
            ("problems", safe_text(", ".join(code for code, _ in document.problems) or "none")),
        ]
    )
    entries = table("when", "title", "link", wide=("title", "link"))
    for entry in document.entries:
        when = entry.published or entry.updated
        entries.add_row(
            local_time(rfc3339(when) if when else None, now),
            safe_text(entry.title.value if entry.title else entry.uid, 120),
            safe_text(entry.link),
        )
    return Group(details, entries)
