"""Credentials of subscriptions and groups on the command line: put from a file, or taken away."""

from pathlib import Path
from typing import Annotated, Any

import typer

from headwater.core.errors import BadInput
from headwater.entrypoints.cli.files import read_json_object
from headwater.entrypoints.cli.render import Record
from headwater.entrypoints.cli.session import Api

CredentialsFile = Annotated[
    Path | None,
    typer.Argument(metavar="[FILE]", help="JSON: headers, cookies, basic, bearer; - is stdin."),
]
Forget = Annotated[bool, typer.Option("--forget", help="Take them away.")]


def check_file_or_forget(file: Path | None, *, forget: bool) -> None:
    """Before anything is opened."""
    if (file is None) != forget:
        raise BadInput("Name a file with the credentials, or say --forget.")


def put_credentials(api: Api, path: str, file: Path | None) -> Any:
    """Credentials are put where nobody can read them back; without a file they are taken away."""
    return api.delete(path) if file is None else api.put(path, read_json_object(file))


def credentials_in_words(name: object, held: Record) -> str:
    return f"{name}: credentials {', '.join(held['kinds']) or 'none'}."
