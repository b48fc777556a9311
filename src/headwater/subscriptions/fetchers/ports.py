"""What subscriptions ask of registered fetchers."""

from dataclasses import dataclass
from typing import Literal, Protocol


@dataclass(frozen=True, slots=True)
class FetcherAnswer:
    """What a fetcher said to "can you handle this source?".

    `code` says why it is a no (`no`, `no_content`) or a silence: trouble on the way (`timeout`,
    `connect_error`, `blocked_address`, …), `http_NNN`, or an answer that is none (`bad_json`,
    `bad_answer`, `too_deep`, `body_too_large`).
    """

    verdict: Literal["yes", "no", "silent"]
    code: str
    detail: str = ""


@dataclass(frozen=True, slots=True)
class HttpReply:
    """What came back for something posted. `trouble` is None for a complete answer."""

    status: int | None
    body: bytes = b""
    trouble: str | None = None
    detail: str = ""


class FetcherClient(Protocol):
    """Registered fetchers over HTTP: signed, small, never redirected, every address checked.

    `signing_key` None means unsigned. `deadline` is seconds from now for everything. Trouble is in
    the answer, never raised.
    """

    async def can_handle(
        self,
        base_url: str,
        signing_key: bytes | None,
        source_url: str,
        source_type: str,
        deadline: float,
    ) -> FetcherAnswer: ...

    async def post(
        self,
        url: str,
        signing_key: bytes | None,
        body: bytes,
        deadline: float,
        message_id: str | None = None,
    ) -> HttpReply:
        """JSON. A message sent again keeps its `message_id`; without one a new one is made."""

    async def close(self) -> None: ...
