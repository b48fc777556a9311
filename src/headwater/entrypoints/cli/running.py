"""`run` and its two halves, `serve` and `work`."""

from pathlib import Path
from typing import Annotated

import typer

from headwater.entrypoints.binding import require_safe_bind
from headwater.entrypoints.cli.exits import ExitCode
from headwater.entrypoints.cli.options import session_of
from headwater.entrypoints.late import late
from headwater.entrypoints.lock import Role, held
from headwater.settings import Settings, load_settings

Host = Annotated[str | None, typer.Option(help="Address to listen on.", show_default="127.0.0.1")]
Port = Annotated[
    int | None, typer.Option(min=0, max=65_535, help="0 takes any free one.", show_default="8470")
]
Migrate = Annotated[
    bool, typer.Option("--migrate", help="Bring a PostgreSQL schema up to date first.")
]


def run(ctx: typer.Context, host: Host = None, port: Port = None, migrate: Migrate = False) -> None:
    """Start Headwater: the API and the worker in one process."""
    _start(ctx, ("serve", "work"), host, port, migrate=migrate)


def serve(
    ctx: typer.Context, host: Host = None, port: Port = None, migrate: Migrate = False
) -> None:
    """Only the API (for several machines)."""
    _start(ctx, ("serve",), host, port, migrate=migrate)


def work(ctx: typer.Context, migrate: Migrate = False) -> None:
    """Only the worker that visits feeds (for several machines)."""
    _start(ctx, ("work",), None, None, migrate=migrate)


def _start(
    ctx: typer.Context,
    roles: tuple[Role, ...],
    host: str | None,
    port: int | None,
    *,
    migrate: bool,
) -> None:
    folder: Path | None = session_of(ctx).data_dir
    settings = load_settings(data_dir=folder, host=host, port=port)
    _refuse_early(settings, roles, f"headwater {ctx.info_name}")
    ended_calmly: bool = late("headwater.entrypoints.service:run")(settings, roles, migrate=migrate)
    if not ended_calmly:
        raise typer.Exit(ExitCode.INTERRUPTED)


def _refuse_early(settings: Settings, roles: tuple[Role, ...], what: str) -> None:
    """What cannot work is said at once, before the engine is even loaded."""
    if "serve" in roles:
        require_safe_bind(settings)
    with held(settings.data_dir, roles, what):
        return
