"""Registered fetchers over HTTP: signed questions and news, through the one gate there is."""

from collections.abc import Sequence
from dataclasses import replace
from secrets import token_hex

from headwater.adapters.web import CurlWeb
from headwater.adapters.web_limits import WebLimits
from headwater.errors import BadUrl
from headwater.fetch.address import AddressPolicy
from headwater.ports import Clock, FetcherAnswer, Reply
from headwater.subscribe.answer import MOST_BYTES, answer_of, question
from headwater.subscribe.base_url import can_handle_url
from headwater.values.response import Answer, Headers
from headwater.values.signature import ID, sign

MOST_AT_ONCE = 32
"""Connections to one fetcher. What is more waits for its turn, and its time runs meanwhile."""

PATIENCE = 600.0
"""No deadline of a question or of news is longer. Within it a fetcher may take its time to answer,
however long a feed may."""


class HttpFetchers:
    """The Fetchers port. Its answers are small, so its client has a smaller limit of its own."""

    def __init__(
        self,
        limits: WebLimits,
        address: AddressPolicy,
        *,
        clock: Clock,
        user_agent: str,
        resolve: Sequence[str] = (),
    ) -> None:
        small = replace(
            limits,
            body_bytes=MOST_BYTES,
            host_connections=MOST_AT_ONCE,
            first_byte=PATIENCE,
            idle=PATIENCE,
        )
        self._web = CurlWeb(small, address, resolve=resolve)
        self._clock, self._user_agent = clock, user_agent

    async def can_handle(
        self,
        base_url: str,
        signing_key: bytes | None,
        source_url: str,
        source_type: str,
        deadline: float,
    ) -> FetcherAnswer:
        try:
            url = can_handle_url(base_url)
        except BadUrl as refusal:
            return FetcherAnswer("silent", refusal.code, refusal.message)
        answer = await self._say(url, signing_key, question(source_url, source_type), deadline)
        if answer.error is not None or answer.status is None:
            return FetcherAnswer("silent", answer.error or "bad_http", answer.error_detail)
        return answer_of(answer.status, answer.body)

    async def post(
        self,
        url: str,
        signing_key: bytes | None,
        body: bytes,
        deadline: float,
        message_id: str | None = None,
    ) -> Reply:
        answer = await self._say(url, signing_key, body, deadline, message_id)
        return Reply(answer.status, answer.body, answer.error, answer.error_detail)

    async def close(self) -> None:
        await self._web.close()

    async def _say(
        self,
        url: str,
        signing_key: bytes | None,
        body: bytes,
        deadline: float,
        message_id: str | None = None,
    ) -> Answer:
        headers: Headers = (
            ("User-Agent", self._user_agent),
            ("Content-Type", "application/json"),
            ("Accept", "application/json"),
            *self._signature(signing_key, message_id or f"msg_{token_hex(16)}", body),
        )
        return await self._web.post(url, headers, body, deadline=deadline)

    def _signature(self, key: bytes | None, message_id: str, body: bytes) -> Headers:
        if key is None:
            return ((ID, message_id),)
        return sign(key, message_id, self._clock.now(), body)
