"""Functions of a session become commands: with their options, `--json`, and the global options."""

from pathlib import Path
from typing import Annotated, Any

import pytest
import typer
from typer.testing import CliRunner

from headwater.entrypoints.cli.command import Commands
from headwater.entrypoints.cli.options import GlobalOptions
from headwater.entrypoints.cli.session import Session

commands = Commands()
boats = commands.family("boats", help="Boats on the river.")
ran: list[tuple[Any, ...]] = []


@commands.command()
def launch(
    session: Session,
    name: Annotated[str, typer.Argument(help="Its name.")],
    *,
    loud: Annotated[bool, typer.Option("--loud", help="With a horn.")] = False,
) -> None:
    """Put a boat on the water."""
    ran.append((session.command, session.data_dir, session.as_json, name, loud))


@commands.command("sink", json=False)
def sink_boat(session: Session) -> None:
    """Let it go down."""
    ran.append((session.command, session.as_json))


@boats.default()
def list_boats(session: Session) -> None:
    """All boats."""
    ran.append(("list", session.as_json))


@boats.command()
def paint(session: Session) -> None:
    """Give one a colour."""
    ran.append(("paint", session.as_json))


@pytest.fixture(autouse=True)
def nothing_ran() -> None:
    ran.clear()


def call(name: str, *args: str) -> int:
    class Alone(typer.core.TyperGroup):
        def get_command(self, ctx: Any, cmd_name: str) -> Any:
            return commands.get(cmd_name)

    app = typer.Typer(cls=Alone)

    @app.callback()
    def program(ctx: typer.Context) -> None:
        ctx.obj = GlobalOptions(data_dir=Path("river"))

    return CliRunner().invoke(app, [name, *args], catch_exceptions=False).exit_code


def test_a_command_gets_a_session_and_its_own_options() -> None:
    assert call("launch", "Ark", "--loud") == 0
    assert ran == [("headwater launch", Path("river"), False, "Ark", True)]


def test_json_is_an_option_of_every_command() -> None:
    assert call("launch", "Ark", "--json") == 0
    assert ran == [("headwater launch", Path("river"), True, "Ark", False)]


def test_a_command_may_do_without_json() -> None:
    assert call("sink", "--json") == 2
    assert call("sink") == 0
    assert ran == [("headwater sink", False)]


def test_the_help_has_json_after_the_options_by_position_and_before_those_by_keyword() -> None:
    assert [each.name for each in commands.get("launch").params] == ["name", "json", "loud"]


def test_a_family_alone_runs_its_default() -> None:
    assert call("boats", "--json") == 0
    assert ran == [("list", True)]


def test_a_named_command_of_a_family_runs_alone() -> None:
    assert call("boats", "paint") == 0
    assert ran == [("paint", False)]


def test_a_module_knows_the_names_of_its_commands() -> None:
    assert commands.names == ["launch", "sink", "boats"]


def test_the_function_stays_a_function() -> None:
    launch(Session(command="headwater launch"), "Ark", loud=True)
    assert ran == [("headwater launch", None, False, "Ark", True)]
