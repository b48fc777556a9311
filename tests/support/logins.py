"""How a token is shown: as programs do it, and as a browser does."""

from base64 import b64encode
from collections.abc import Callable

ADMIN = "an-admin-token-of-the-tests"

Shown = Callable[[str], str]


def bearer(token: str) -> str:
    return f"Bearer {token}"


def basic(token: str, name: str = "anybody") -> str:
    return "Basic " + b64encode(f"{name}:{token}".encode()).decode()
