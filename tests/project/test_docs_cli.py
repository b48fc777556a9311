"""docs/cli.md has every command with its options, and every exit code."""

from collections.abc import Iterator
from typing import Any

import pytest
from typer.main import get_command

from headwater.entrypoints.cli.errors import MEANINGS
from headwater.entrypoints.cli.main import app
from tests.support.docs_pages import page

TEXT = page("docs/cli.md")


def commands(group: Any, path: str) -> Iterator[tuple[str, Any]]:
    for name in group.list_commands(None):
        command = group.get_command(None, name)
        if hasattr(command, "commands"):
            if command.invoke_without_command:
                yield f"{path} {name}", command
            yield from commands(command, f"{path} {name}")
        elif not command.hidden:
            yield f"{path} {name}", command


COMMANDS = dict(commands(get_command(app), "headwater"))


def section(command: str) -> str:
    """From the command's heading to the next one."""
    start = TEXT.find(f"\n### `{command}")
    assert start >= 0, f"docs/cli.md has no heading for {command}"
    end = TEXT.find("\n#", start + 1)
    return TEXT[start : end if end > 0 else None]


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_is_documented_with_its_options(command: str) -> None:
    said = section(command)
    options = [
        parameter.opts[0]
        for parameter in COMMANDS[command].params
        if parameter.param_type_name == "option" and parameter.name != "help"
    ]
    assert [option for option in options if f"`{option}" not in said] == []


def test_no_command_is_documented_that_does_not_exist() -> None:
    headings = [line for line in TEXT.splitlines() if line.startswith("### `headwater")]
    named = {line.removeprefix("### `").rstrip("`") for line in headings}
    unknown = {head for head in named if not any(head.startswith(name) for name in COMMANDS)}
    assert unknown == set()


@pytest.mark.parametrize("code", MEANINGS)
def test_an_exit_code_is_documented(code: int) -> None:
    assert f"| `{int(code)}` | {MEANINGS[code]} |" in TEXT  # type: ignore[index]
