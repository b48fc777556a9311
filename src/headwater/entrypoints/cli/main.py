"""The command line: global options, errors and exit codes. The catalogue lists the commands."""

import errno
import os
import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from headwater import __version__
from headwater.core.errors import BadInput, HeadwaterError
from headwater.entrypoints.cli.catalogue import COMMANDS, load_command
from headwater.entrypoints.cli.errors import MEANINGS, ExitCode, NotText, exit_code_of, print_error
from headwater.entrypoints.cli.options import GlobalOptions

_NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO})

GLOBAL_OPTIONS = ("--data-dir", "--url")
"""Options of `headwater` itself that may also stand after the command's name."""


class HeadwaterGroup(TyperGroup):
    """Imports commands when they are called; turns expected errors into a line and an exit code."""

    def __init__(self, **options: Any) -> None:
        # Typer looks here for similar names. The commands themselves are loaded later.
        super().__init__(**{**options, "commands": dict.fromkeys(COMMANDS)})

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name in COMMANDS and self.commands[cmd_name] is None:
            self.commands[cmd_name] = load_command(cmd_name)
        return self.commands.get(cmd_name)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        return super().parse_args(ctx, _move_global_options_first(args))

    def invoke(self, ctx: Any) -> Any:
        try:
            return self._invoke(ctx)
        except HeadwaterError as trouble:
            print_error(trouble, as_json=getattr(ctx.obj, "as_json", False))
            raise typer.Exit(exit_code_of(trouble)) from trouble
        except typer.Abort as stopped:
            # Ctrl-C at a question, or an answer that means no.
            print("Aborted.", file=sys.stderr)
            raise typer.Exit(ExitCode.INTERRUPTED) from stopped

    def _invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except UnicodeEncodeError as trouble:
            if not "\ud800" <= trouble.object[trouble.start] <= "\udfff":
                raise
            raise NotText from trouble
        except OSError as trouble:
            if trouble.errno not in _NO_ROOM or trouble.filename is not None:
                raise  # stdout has no file name
            # Python would write the rest at the very end again, and fail there.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise BadInput(f"stdout cannot be written: {trouble.strerror}.") from trouble


EPILOG = "Exit codes: " + " · ".join(f"{int(code)} {words}" for code, words in MEANINGS.items())

app = typer.Typer(
    cls=HeadwaterGroup,
    name="headwater",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    epilog=EPILOG,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(is_set: bool) -> None:
    if is_set:
        print(f"headwater {__version__}")
        raise typer.Exit


@app.callback()
def headwater(
    ctx: typer.Context,
    data_dir: Annotated[
        Path | None,
        typer.Option(
            help="Where its data is. [HEADWATER_DATA_DIR, else ./data]", show_default=False
        ),
    ] = None,
    url: Annotated[
        str | None,
        typer.Option(help="The URL of another service. [HEADWATER_URL, with HEADWATER_TOKEN]"),
    ] = None,
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version."
        ),
    ] = False,
) -> None:
    """Headwater follows feeds: politely, exactly, and it says why."""
    ctx.obj = GlobalOptions(data_dir, url)


def main() -> None:
    app(prog_name="headwater")


def _move_global_options_first(args: list[str]) -> list[str]:
    front: list[str] = []
    rest: list[str] = []
    words = iter(args)
    for word in words:
        if word == "--":
            return [*front, *rest, word, *words]
        if word in GLOBAL_OPTIONS:
            front += [word, *([value] if (value := next(words, None)) is not None else [])]
        elif word.startswith(tuple(f"{name}=" for name in GLOBAL_OPTIONS)):
            front.append(word)
        else:
            rest.append(word)
    return front + rest


if __name__ == "__main__":
    main()
