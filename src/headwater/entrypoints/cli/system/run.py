"""`headwater run` and its two halves, `serve` and `work`."""

from ipaddress import ip_address
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from headwater.core.errors import BadSettings
from headwater.entrypoints.cli.command import Commands
from headwater.entrypoints.cli.errors import ExitCode
from headwater.entrypoints.cli.session import Session
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
    """Lets `--grpc` stand alone: these commands have no arguments that could be its value."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        return super().parse_args(ctx, fill_option_value("--grpc", args))


commands = Commands()


@commands.command(json=False, cls=ServeCommand)
def run(
    session: Session,
    host: Host = None,
    port: Port = None,
    grpc: Grpc = None,
    migrate: Migrate = False,
) -> None:
    """Start Headwater: the API and the worker in one process."""
    options = {"host": host, "port": port, **parse_grpc_option(grpc)}
    _start(session, ("serve", "work"), migrate=migrate, **options)


@commands.command(json=False, cls=ServeCommand)
def serve(
    session: Session,
    host: Host = None,
    port: Port = None,
    grpc: Grpc = None,
    migrate: Migrate = False,
) -> None:
    """Only the API (for several machines)."""
    options = {"host": host, "port": port, **parse_grpc_option(grpc)}
    _start(session, ("serve",), migrate=migrate, **options)


@commands.command(json=False)
def work(session: Session, migrate: Migrate = False) -> None:
    """Only the worker that visits feeds (for several machines)."""
    _start(session, ("work",), migrate=migrate)


def _start(session: Session, roles: tuple[Role, ...], *, migrate: bool, **options: Any) -> None:
    settings = load_settings(data_dir=session.data_dir, **options)
    _check_can_start(settings, roles, session.command)
    run_service = lazy_import("headwater.entrypoints.server.service:run_service")
    ended_calmly: bool = run_service(settings, roles, migrate=migrate)
    if not ended_calmly:
        raise typer.Exit(ExitCode.INTERRUPTED)


def _check_can_start(settings: Settings, roles: tuple[Role, ...], what: str) -> None:
    """Refuse at once what cannot work, before the service is even loaded."""
    if "serve" in roles:
        check_safe_bind(settings)
    with hold_locks(settings.data_dir, roles, what):
        return


def fill_option_value(option: str, args: list[str]) -> list[str]:
    """Give an empty value to an option that stands alone."""
    return [
        f"{word}=" if word == option and following.startswith("-") else word
        for word, following in zip(args, [*args, "-"][1:], strict=True)
    ]


def parse_grpc_option(grpc: str | None) -> dict[str, Any]:
    """Parse `HOST:PORT`, or one half of it. The port is then that of the settings, or 8471."""
    if grpc is None:
        return {}
    if not grpc or _is_address(grpc):
        host, configured = grpc, load_settings().grpc_port
        port = GRPC_PORT if configured is None else configured
    else:
        host, _, digits = grpc.rpartition(":")
        port = _port(digits, grpc)
    return {"grpc_host": host.strip("[]") or None, "grpc_port": port}


def _is_address(grpc: str) -> bool:
    """True for an address or `localhost`. Other names need a port, as they may be mistakes."""
    try:
        ip_address(grpc.strip("[]"))
    except ValueError:
        return grpc == "localhost"
    return True


def _port(digits: str, grpc: str) -> int:
    if digits.isascii() and digits.isdigit() and int(digits) <= LARGEST_PORT:
        return int(digits)
    raise BadSettings(
        "--grpc takes HOST:PORT, such as 127.0.0.1:8471, or an address or a port alone,"
        f" not {grpc!r}."
    )
