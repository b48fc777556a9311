"""Commands are imported as they are called: a start loads what its command needs."""

import importlib
import pkgutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.core import TyperGroup
from typer.main import get_command

from headwater.entrypoints import cli
from headwater.entrypoints.cli.catalogue import AREAS, COMMANDS
from headwater.entrypoints.cli.command import Commands
from headwater.entrypoints.cli.main import app
from tests.entrypoints.cli.conftest import Shell
from tests.support.service import environment

CALLED = """
import sys
from headwater.entrypoints.cli.main import main
sys.argv[0] = "headwater"
try:
    main()
finally:
    print("loaded", *sorted(sys.modules))
"""


def loaded_by(env: dict[str, str], *args: str) -> set[str]:
    """Every module that is there when the command is over."""
    done = subprocess.run(
        [sys.executable, "-c", CALLED, *args], env=env, capture_output=True, text=True, check=True
    )
    return set(done.stdout.splitlines()[-1].split()[1:])


def group() -> TyperGroup:
    made = get_command(app)
    assert isinstance(made, TyperGroup)
    return made


def context() -> typer.Context:
    return typer.Context(group(), info_name="headwater")


def modules_of_commands() -> Iterator[str]:
    """Every module of the command line that has commands."""
    for found in pkgutil.walk_packages(cli.__path__, f"{cli.__name__}."):
        module = importlib.import_module(found.name)
        if isinstance(getattr(module, "commands", None), Commands):
            yield found.name.removeprefix(f"{cli.__name__}.")


def test_the_catalogue_has_every_command_of_every_module() -> None:
    """A new command is a function and one word there; what is missing is named here."""
    of_track = {"anime.preview"}  # its commands belong to `headwater track`
    assert set(modules_of_commands()) - of_track == AREAS.keys()
    for area, (_, names) in AREAS.items():
        module = importlib.import_module(f"{cli.__name__}.{area}")
        assert sorted(module.commands.names) == sorted(names.split()), area


def test_the_version_needs_no_settings_and_no_tables(tmp_path: Path) -> None:
    found = loaded_by(environment(tmp_path / "data"), "--version")
    assert "headwater.entrypoints.cli.catalogue" in found
    assert found & {"pydantic", "rich.console", "headwater.settings"} == set()


def test_the_help_of_all_commands_needs_no_engine(tmp_path: Path) -> None:
    found = loaded_by(environment(tmp_path / "data"), "--help")
    assert {"headwater.entrypoints.cli.feeds", "headwater.entrypoints.cli.system.doctor"} <= found
    heavy = {"headwater.wiring.app", "fastapi", "pycurl", "sqlite3", "pyarrow"}
    assert found & heavy == set()


def test_a_command_opens_its_own_room_and_no_migration(alone: Shell, tmp_path: Path) -> None:
    found = loaded_by(environment(tmp_path / "data"), "list", "--json")
    assert {"headwater.entrypoints.cli.feeds", "headwater.adapters.schema"} <= found
    others = {f"headwater.entrypoints.cli.{room}" for room in ("sinks", "readers", "export")}
    assert found & {*others, "alembic", "mako", "headwater.adapters.alembic_runner"} == set()


def test_the_first_command_migrates(tmp_path: Path) -> None:
    found = loaded_by(environment(tmp_path / "data"), "list", "--json")
    assert "headwater.adapters.alembic_runner" in found


def test_help_shows_every_command_with_a_line_about_it() -> None:
    commands, ctx = group(), context()
    assert commands.list_commands(ctx) == list(COMMANDS)
    for name in COMMANDS:
        command = commands.get_command(ctx, name)
        assert command is not None
        assert command.name == name
        assert len(command.get_short_help_str(200)) > 10, name


@pytest.mark.parametrize(
    ("begun", "names"), [("re", {"refetch", "resume", "remove", "reparse", "readers", "releases"})]
)
def test_a_shell_may_complete_names(begun: str, names: set[str]) -> None:
    offered = group().shell_complete(context(), begun)
    assert {each.value for each in offered} == names
    assert all(each.help for each in offered)


def test_a_name_that_is_nearly_right_is_recognised(nobody: Shell) -> None:
    refused = nobody("conflict")
    assert refused.code == 2
    assert "'conflicts'" in refused.err


def test_what_is_not_there_is_not_made_up() -> None:
    assert group().get_command(context(), "nonsense") is None


def every_command(command: Any, path: str) -> Iterator[tuple[str, Any]]:
    yield path, command
    if isinstance(command, TyperGroup):
        ctx = typer.Context(command, info_name=path)
        for name in command.list_commands(ctx):
            yield from every_command(command.get_command(ctx, name), f"{path} {name}")


EVERY = dict(every_command(group(), "headwater"))


def test_commands_in_commands_are_looked_at_too() -> None:
    assert {"headwater run", "headwater groups create", "headwater track add"} <= EVERY.keys()


@pytest.mark.parametrize("path", EVERY)
def test_a_command_explains_itself_and_all_it_takes(path: str) -> None:
    assert (EVERY[path].help or "").strip()
    silent = [each.name for each in EVERY[path].params if not (each.help or "").strip()]
    assert silent == []
