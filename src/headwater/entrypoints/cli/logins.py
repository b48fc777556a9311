"""Logins of private sources: they come by file or standard input, and are never shown again."""

import sys
from pathlib import Path
from typing import Annotated, Any

import orjson
import typer

from headwater.entrypoints.cli.session import Api
from headwater.errors import BadInput

LoginFile = Annotated[
    Path | None,
    typer.Argument(metavar="[FILE]", help="JSON: headers, cookies, basic, bearer; - is stdin."),
]
Forget = Annotated[bool, typer.Option("--forget", help="Take them away.")]


def refuse_unless_one(file: Path | None, *, forget: bool) -> None:
    """Before anything is opened."""
    if (file is None) != forget:
        raise BadInput("Name a file with the credentials, or say --forget.")


def give(api: Api, where: str, file: Path | None) -> Any:
    """Credentials are put where nobody can read them back; without a file they are taken away."""
    return api.delete(where) if file is None else api.put(where, json_object(file))


def in_words(name: object, held: dict[str, Any]) -> str:
    return f"{name}: credentials {', '.join(held['kinds']) or 'none'}."


def json_object(file: Path) -> dict[str, Any]:
    """Not from the command line: what stands there, everybody on the machine can see."""
    by_hand = str(file) == "-"
    name = "stdin" if by_hand else str(file)
    try:
        text = sys.stdin.read() if by_hand else file.read_text("utf-8")
        said = orjson.loads(text)
    except OSError as trouble:
        raise BadInput(f"{name} cannot be read: {trouble.strerror}.") from trouble
    except ValueError as trouble:
        raise BadInput(f"{name} cannot be read as JSON: {trouble}") from trouble
    if not isinstance(said, dict):
        raise BadInput(f"{name} must hold a JSON object.")
    return said
