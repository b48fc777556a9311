"""`headwater settings`: the settings in force."""

from typing import Any

from rich.table import Table

from headwater.entrypoints.cli.command import Commands
from headwater.entrypoints.cli.render import Record, details_table, safe_text
from headwater.entrypoints.cli.session import Session
from headwater.settings import Settings, hidden_secrets

commands = Commands()


@commands.command()
def settings(session: Session) -> None:
    """The settings in force, secrets hidden."""
    session.emit(in_force(session.settings), settings_details)


def in_force(settings: Settings) -> Record:
    """Return every setting and the User-Agent that follows from them, without secrets."""
    return hidden_secrets(settings) | {"user_agent": settings.user_agent}


def settings_details(shown: Record) -> Table:
    return details_table((name, safe_text(_format_setting(value))) for name, value in shown.items())


def _format_setting(value: Any) -> str:
    if value is None:
        return "not set"
    if isinstance(value, float):
        return f"{value:g}"
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)
