"""Ids that are numbers, and source URLs, as they stand in a path."""

from urllib.parse import unquote_to_bytes

from starlette.requests import Request

from headwater.errors import BadInput, NotFound
from headwater.values.url import redacted

LARGEST = 2**63 - 1


def number(text: str, what: str) -> int:
    """What is no plain number cannot be found, and need not be looked for."""
    if not is_number(text) or int(text[:20]) > LARGEST:
        raise NotFound(f"There is no such {what}.", what=what)
    return int(text)


def is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and (text == "0" or not text.startswith("0"))


def last_part(request: Request) -> str:
    """What stands after the second slash of the path, decoded exactly once.

    The router has decoded the path already, so its own reading cannot be trusted to keep an
    encoded slash, question mark or percent sign apart from a plain one.
    """
    raw: bytes = request.scope["raw_path"]
    parts = raw.split(b"/", 2)
    try:
        return unquote_to_bytes(parts[2]).decode("utf-8") if len(parts) == 3 else ""
    except UnicodeDecodeError:
        return ""


def refuse_unknown_query(request: Request, *known: str) -> None:
    """A URL that was not encoded loses its query to ours: then it would name another source."""
    if strangers := sorted(set(request.query_params) - set(known)):
        raise BadInput(
            f"Unknown parameter {redacted(strangers[0][:100])}. In a path, a source URL must be"
            " percent-encoded once, its query too.",
            known=list(known),
        )
