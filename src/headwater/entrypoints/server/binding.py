"""Where we may listen, and how much we take on at once."""

import ipaddress

from headwater.core.errors import BadSettings
from headwater.settings import Settings

MOST_CONNECTIONS = 512
"""More than that at once are turned away with 503; twice as many are not even listened to."""

MOST_OPEN_FILES = 65_536
"""What we raise our own limit to, where we may: each visit and each connection is a file."""


def is_loopback(host: str) -> bool:
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def is_every_address(host: str) -> bool:
    """Whether it stands for all addresses of this machine."""
    try:
        return ipaddress.ip_address(host.strip("[]")).is_unspecified
    except ValueError:
        return False


def check_safe_bind(settings: Settings) -> None:
    """Without an admin token everything is open, so only this machine may come in."""
    if settings.grpc_port is not None:
        _check_safe_grpc_bind(settings)
    if settings.admin_secret is None and not is_loopback(settings.host):
        raise BadSettings(
            f"Without an admin token Headwater listens on loopback only, not on {settings.host}."
            " Set HEADWATER_ADMIN_TOKEN (or HEADWATER_ADMIN_TOKEN_FILE), or use --host 127.0.0.1.",
            host=settings.host,
        )


def _check_safe_grpc_bind(settings: Settings) -> None:
    if settings.admin_secret is None and not is_loopback(settings.grpc_host):
        raise BadSettings(
            "Without an admin token gRPC listens on loopback only, not on"
            f" {settings.grpc_host}. Set HEADWATER_ADMIN_TOKEN (or HEADWATER_ADMIN_TOKEN_FILE).",
            host=settings.grpc_host,
        )
