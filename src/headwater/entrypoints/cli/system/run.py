"""`run` and its two halves, `serve` and `work`."""

from ipaddress import ip_address
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from headwater.core.errors import BadSettings
from headwater.entrypoints.cli.errors import ExitCode
from headwater.entrypoints.cli.options import session_of
from headwater.entrypoints.lazy_import import lazy_import
from headwater.entrypoints.server.binding import check_safe_bind
from headwater.entrypoints.server.data_folder import Role, hold_locks
from headwater.settings import Settings, load_settings

GRPC_PORT = 8471
LARGEST_PORT = 65_535

Host = Annotated[str | None, typer.Option(help="Address to listen on.", show_default="127.0.0.1")]
Port = Annotated[
    int | None,
    typer.Option(min=0, max=LARGEST_PORT, help="0 takes any free one.", show_default="8470"),
]
Migrate = Annotated[
    bool, typer.Option("--migrate", help="Bring a PostgreSQL schema up to date first.")
]


Grpc = Annotated[
    str | None,
    typer.Option(
        "--grpc",
        metavar="[HOST:PORT]",
        help="Answer over gRPC too; without a value on 127.0.0.1:8471.",
        show_default=False,
    ),
]


class ServeCommand(TyperCommand):
    """`--grpc` may stand alone: these commands have no arguments it could be mistaken with."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        return super().parse_args(ctx, fill_option_value("--grpc", args))


def run(
    ctx: typer.Context,
    host: Host = None,
    port: Port = None,
    grpc: Grpc = None,
    migrate: Migrate = False,
) -> None:
    """Start Headwater: the API and the worker in one process."""
    _start(ctx, ("serve", "work"), migrate=migrate, host=host, port=port, **parse_grpc_option(grpc))


def serve(
    ctx: typer.Context,
    host: Host = None,
    port: Port = None,
    grpc: Grpc = None,
    migrate: Migrate = False,
) -> None:
    """Only the API (for several machines)."""
    _start(ctx, ("serve",), migrate=migrate, host=host, port=port, **parse_grpc_option(grpc))


def work(ctx: typer.Context, migrate: Migrate = False) -> None:
    """Only the worker that visits feeds (for several machines)."""
    _start(ctx, ("work",), migrate=migrate)


def _start(ctx: typer.Context, roles: tuple[Role, ...], *, migrate: bool, **options: Any) -> None:
    folder: Path | None = session_of(ctx).data_dir
    settings = load_settings(data_dir=folder, **options)
    _check_can_start(settings, roles, f"headwater {ctx.info_name}")
    ended_calmly: bool = lazy_import("headwater.entrypoints.server.service:run_service")(
        settings, roles, migrate=migrate
    )
    if not ended_calmly:
        raise typer.Exit(ExitCode.INTERRUPTED)


def _check_can_start(settings: Settings, roles: tuple[Role, ...], what: str) -> None:
    """What cannot work is said at once, before the engine is even loaded."""
    if "serve" in roles:
        check_safe_bind(settings)
    with hold_locks(settings.data_dir, roles, what):
        return


def fill_option_value(option: str, args: list[str]) -> list[str]:
    """An option that stands alone gets an empty value."""
    return [
        f"{word}=" if word == option and following.startswith("-") else word
        for word, following in zip(args, [*args, "-"][1:], strict=True)
    ]


def parse_grpc_option(grpc: str | None) -> dict[str, Any]:
    """`HOST:PORT`, either half of it, or nothing: then what the settings say, or 8471."""
    if grpc is None:
        return {}
    if not grpc or _is_address(grpc):
        host, usual = grpc, load_settings().grpc_port
        port = GRPC_PORT if usual is None else usual
    else:
        host, _, said = grpc.rpartition(":")
        port = _port(said, grpc)
    return {"grpc_host": host.strip("[]") or None, "grpc_port": port}


def _is_address(grpc: str) -> bool:
    """Of other names nobody can tell whether they are meant: those need their port."""
    try:
        ip_address(grpc.strip("[]"))
    except ValueError:
        return grpc == "localhost"
    return True


def _port(said: str, grpc: str) -> int:
    if said.isascii() and said.isdigit() and int(said) <= LARGEST_PORT:
        return int(said)
    raise BadSettings(
        "--grpc takes HOST:PORT, such as 127.0.0.1:8471, or an address or a port alone,"
        f" not {grpc!r}."
    )
