"""What others ask of the web: one GET of one URL."""

from typing import Protocol

from headwater.core.values.response import Headers, HttpAnswer


class Web(Protocol):
    """One GET of one URL: no redirects, no decoding, every limit kept, every address checked."""

    async def get(
        self, url: str, headers: Headers, *, deadline: float, verify_tls: bool = True
    ) -> HttpAnswer:
        """`deadline` is seconds from now for everything. Trouble is in the answer, never raised."""

    async def address_of(self, host: str) -> str | None:
        """Where a name leads to first; nobody is asked there. None for what is no name, or is not
        found in time."""

    async def close(self) -> None: ...
