"""A command is a function of a session: it asks the API and shows the answer.

Its parameters are its arguments and options, its docstring is its help. `--json` is added to them.
`subscriptions/groups.py` is an example.
"""

from collections.abc import Callable
from inspect import Parameter, signature
from typing import Annotated, Any, TypeVar

import typer
from typer.core import TyperCommand
from typer.main import get_group

from headwater.entrypoints.cli.options import GlobalOptions
from headwater.entrypoints.cli.session import Session

Command = TypeVar("Command", bound=Callable[..., None])
Json = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]


class Commands:
    """The commands of one module; `headwater` imports the module when one of them is called."""

    def __init__(self, **options: Any) -> None:
        self._app = typer.Typer(rich_markup_mode="rich", pretty_exceptions_enable=False, **options)

    def command(
        self, name: str | None = None, *, json: bool = True, cls: type[TyperCommand] | None = None
    ) -> Callable[[Command], Command]:
        """Make a command of a function. Without a name it has the name of the function."""

        def add(function: Command) -> Command:
            self._app.command(name or function.__name__, cls=cls)(_with_session(function, json))
            return function

        return add

    def family(self, name: str, *, help: str) -> "Commands":
        """Commands under one word, such as `headwater groups list`."""
        family = Commands(no_args_is_help=True, help=help)
        self._app.add_typer(family._app, name=name)
        return family

    def default(self) -> Callable[[Command], Command]:
        """Make the command that runs when the word of the family stands alone."""

        def add(function: Command) -> Command:
            run = _with_session(function, json=True)

            def run_alone(ctx: typer.Context, **options: Any) -> None:
                if ctx.invoked_subcommand is None:
                    run(ctx, **options)

            set_signature(run_alone, run, list(signature(run).parameters.values()))
            self._app.callback(invoke_without_command=True, no_args_is_help=False)(run_alone)
            return function

        return add

    def include(self, others: "Commands") -> None:
        """Take in the commands of another module."""
        self._app.add_typer(others._app)

    @property
    def names(self) -> list[str]:
        commands = [command.name for command in self._app.registered_commands]
        families = [family.name for family in self._app.registered_groups]
        return [str(name) for name in (*commands, *families)]

    def get(self, name: str) -> Any:
        """Build one command for Typer. The others are not built, to save time."""
        app = typer.Typer(rich_markup_mode="rich", pretty_exceptions_enable=False)
        commands, groups = self._app.registered_commands, self._app.registered_groups
        app.registered_commands = [command for command in commands if command.name == name]
        app.registered_groups = [group for group in groups if group.name == name]
        return get_group(app).commands[name]


def session_of(ctx: typer.Context, *, as_json: bool) -> Session:
    """Open the session of this run. `headwater` reads it, too, when it prints an error."""
    options = ctx.find_object(GlobalOptions) or GlobalOptions()
    session = Session(
        data_dir=options.data_dir,
        url=options.url,
        command=f"headwater {ctx.info_name}",
        as_json=as_json,
    )
    ctx.find_root().obj = session
    return session


def _with_session(function: Callable[..., None], json: bool) -> Callable[..., None]:
    """The function as Typer calls it: with the context and `--json` in place of the session."""

    def run(ctx: typer.Context, **options: Any) -> None:
        function(session_of(ctx, as_json=options.pop("json", False)), **options)

    _, *own = signature(function).parameters.values()
    keyword_only = [parameter for parameter in own if parameter.kind is Parameter.KEYWORD_ONLY]
    context = Parameter("ctx", Parameter.POSITIONAL_OR_KEYWORD, annotation=typer.Context)
    as_json = Parameter("json", Parameter.KEYWORD_ONLY, default=False, annotation=Json)
    positional = own[: len(own) - len(keyword_only)]
    set_signature(
        run, function, [context, *positional, *([as_json] if json else []), *keyword_only]
    )
    return run


def set_signature(
    run: Callable[..., None], function: Callable[..., None], parameters: list[Parameter]
) -> None:
    """Set the signature and the docstring, which Typer reads."""
    run.__signature__ = signature(function).replace(parameters=parameters)  # type: ignore[attr-defined]
    run.__doc__, run.__name__ = function.__doc__, function.__name__
