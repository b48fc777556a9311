"""Who may knock: requests meant for us (Host), not sent by somebody else's web page (Origin)."""

import ipaddress
from functools import lru_cache
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from headwater.entrypoints.api.refusals import Misdirected
from headwater.entrypoints.listener import is_loopback
from headwater.errors import Forbidden
from headwater.settings import Settings

LONGEST_HOST = 300
"""A name of DNS has 253 letters at most; then come a colon and a port."""

SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})


class Doors:
    """Stops DNS rebinding against loopback and forged requests from pages in a browser."""

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self._app = app
        self._names = {settings.host.lower().strip("[]")} - _EVERYWHERE
        self._public = _origin_of(settings.public_base_url)
        if settings.public_base_url:
            self._names.add((urlsplit(settings.public_base_url).hostname or "").rstrip("."))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            headers = Headers(scope=scope)
            hosts = headers.getlist("host")
            if len(hosts) != 1 or not self._is_ours(hosts[0]):
                raise Misdirected(
                    "This request names a host that Headwater does not answer for."
                    " Set HEADWATER_PUBLIC_BASE_URL to the address it is reached by."
                )
            if scope["method"] not in SAFE_METHODS:
                self._refuse_foreign_page(headers, hosts[0])
        await self._app(scope, receive, send)

    def _is_ours(self, host: str) -> bool:
        name = _name_of(host)
        return name is not None and (name in self._names or is_loopback(name))

    def _refuse_foreign_page(self, headers: Headers, host: str) -> None:
        """Programs send neither header; a browser's page of ours sends its own origin."""
        for origin in headers.getlist("origin"):
            same = _netloc_of(origin) == host.lower()
            if not same and (self._public is None or _origin_of(origin) != self._public):
                raise Forbidden("Requests from other web pages are not accepted.")
        if headers.get("sec-fetch-site", "none") not in ("none", "same-origin"):
            raise Forbidden("Requests from other web pages are not accepted.")


_EVERYWHERE = {"", "0.0.0.0", "::"}  # noqa: S104 -- compared with, never bound to


def _name_of(host: str) -> str | None:
    """The name or address without its port; None for what no client would write."""
    return _read(host) if len(host) <= LONGEST_HOST else None


@lru_cache(maxsize=1_024)
def _read(host: str) -> str | None:
    """Remembered, as nearly all requests name the same few."""
    try:
        parts = urlsplit(f"//{host}")
        _ = parts.port
    except ValueError:
        return None
    if parts.username is not None or parts.path or parts.query or parts.fragment:
        return None
    name = (parts.hostname or "").rstrip(".")
    return _plain_address(name)


def _plain_address(name: str) -> str:
    try:
        return str(ipaddress.ip_address(name))
    except ValueError:
        return name


def _netloc_of(origin: str) -> str | None:
    try:
        parts = urlsplit(origin)
    except ValueError:
        return None
    return parts.netloc.lower() if parts.scheme in ("http", "https") else None


def _origin_of(url: str | None) -> str | None:
    if url is None:
        return None
    try:
        parts = urlsplit(url)
    except ValueError:
        return None
    return f"{parts.scheme}://{parts.netloc}".lower() if parts.netloc else None
