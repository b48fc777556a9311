"""Binding: addresses that we may listen on, and how many connections we take."""

import ipaddress

from headwater.core.errors import BadSettings
from headwater.settings import Settings

MOST_CONNECTIONS = 512
"""More connections at once are refused with 503; beyond twice as many they are closed."""

MOST_OPEN_FILES = 65_536
"""We raise our own limit to this, where we may: each visit and each connection is a file."""


def is_loopback(host: str) -> bool:
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def is_every_address(host: str) -> bool:
    """True when the host stands for all addresses of this machine."""
    try:
        return ipaddress.ip_address(host.strip("[]")).is_unspecified
    except ValueError:
        return False


def check_safe_bind(settings: Settings) -> None:
    """Refuse to listen beyond this machine without an admin token, as everything is open then."""
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
