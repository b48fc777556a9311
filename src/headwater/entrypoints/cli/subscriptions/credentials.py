"""Credentials of subscriptions and groups on the command line: set from a file, or removed."""

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
Forget = Annotated[bool, typer.Option("--forget", help="Remove them.")]


def check_file_or_forget(file: Path | None, *, forget: bool) -> None:
    """Check the options, before anything is opened."""
    if (file is None) != forget:
        raise BadInput("Name a file with the credentials, or say --forget.")


def put_credentials(api: Api, path: str, file: Path | None) -> Any:
    """Store credentials, which nobody can read back; without a file remove them."""
    return api.delete(path) if file is None else api.put(path, read_json_object(file))


def credentials_in_words(name: object, credentials: Record) -> str:
    return f"{name}: credentials {', '.join(credentials['kinds']) or 'none'}."
