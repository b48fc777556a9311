"""Absolute URLs of our own, built from what an operator set or what was checked; never a secret."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from urllib.parse import quote, urlencode, urlsplit

from starlette.requests import Request

from headwater.settings import Settings


@dataclass(frozen=True, slots=True)
class Address:
    """One route, its path encoded; of a query only what is known here goes into a link."""

    base: str
    path: str
    limit: int | None = None

    def url(self, cursor: str | None = None) -> str:
        asked = {"cursor": cursor, "limit": self.limit}
        query = urlencode({name: value for name, value in asked.items() if value is not None})
        return f"{self.base}{self.path}{f'?{query}' if query else ''}"


def base_of(request: Request, settings: Settings) -> str:
    """What the operator set; else the host that was asked, which is known to be ours by now."""
    return base_at(request.url.scheme, request.headers["host"], settings.public_base_url)


@lru_cache(maxsize=256)
def base_at(scheme: str, host: str, public: str | None) -> str:
    """The same for whoever has no request object."""
    if public:
        parts = urlsplit(public)
        return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path.rstrip('/')}"
    parts = urlsplit(f"//{host}")
    name = (parts.hostname or "").rstrip(".")
    shown = f"[{name}]" if ":" in name else name
    port = f":{parts.port}" if parts.port else ""
    return f"{scheme}://{shown}{port}"


def link_header(links: Mapping[str, str | None]) -> str:
    """RFC 8288. A URL that could end its own brackets is encoded there."""
    return ", ".join(
        f'<{quote(url, safe=_IN_A_URL)}>; rel="{rel}"' for rel, url in links.items() if url
    )


_IN_A_URL = "!#$%&'()*+,/:;=?@[]~"
