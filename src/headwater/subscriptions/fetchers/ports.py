"""The ports through which subscriptions ask registered fetchers."""

from dataclasses import dataclass
from typing import Literal, Protocol


@dataclass(frozen=True, slots=True)
class FetcherAnswer:
    """A fetcher's answer to "can you handle this source?".

    `code` is the reason for a no (`no`, `no_content`) or a silence: trouble on the way (`timeout`,
    `connect_error`, `blocked_address`, …), `http_NNN`, or an answer that cannot be used
    (`bad_json`, `bad_answer`, `too_deep`, `body_too_large`).
    """

    verdict: Literal["yes", "no", "silent"]
    code: str
    detail: str = ""


@dataclass(frozen=True, slots=True)
class HttpReply:
    """The reply to a post. `trouble` is None for a complete answer."""

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
        """Post a JSON body. A message sent again keeps its `message_id`; None makes a new one."""

    async def close(self) -> None: ...
