"""Ports of the web area: the HTTP client as other areas see it."""

from typing import Protocol

from headwater.core.values.response import Headers, HttpAnswer


class Web(Protocol):
    """One GET of one URL: no redirects, no decoding, every limit kept, every address checked."""

    async def get(
        self, url: str, headers: Headers, *, deadline: float, verify_tls: bool = True
    ) -> HttpAnswer:
        """`deadline` is seconds from now for everything. Trouble is in the answer, never raised."""

    async def address_of(self, host: str) -> str | None:
        """The first address of a name; nothing is sent to that host. None when `host` is no name,
        or when its address is not found in time."""

    async def close(self) -> None: ...
