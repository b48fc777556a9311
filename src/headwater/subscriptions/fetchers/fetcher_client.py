"""The HTTP client for registered fetchers: signed questions and news, through the address gate."""

from collections.abc import Sequence
from dataclasses import replace
from secrets import token_hex

from headwater.core.errors import BadUrl
from headwater.core.ports import Clock
from headwater.core.values.response import Headers, HttpAnswer
from headwater.core.values.signature import ID, sign
from headwater.subscriptions.fetchers.address import can_handle_url
from headwater.subscriptions.fetchers.can_handle import (
    MOST_BYTES,
    encode_can_handle,
    parse_can_handle_answer,
)
from headwater.subscriptions.fetchers.ports import FetcherAnswer, HttpReply
from headwater.web.address_gate import AddressPolicy
from headwater.web.http_client import CurlWeb
from headwater.web.limits import WebLimits

MOST_AT_ONCE = 32
"""Connections to one fetcher. More requests wait for their turn, and their time runs meanwhile."""

LONGEST_DEADLINE = 600.0
"""The longest deadline of a question or of news. Within its deadline a fetcher may be silent for as
long as it likes, whatever the limits for feeds are."""


class HttpFetcherClient:
    """A `FetcherClient`. Answers of fetchers are small, so its limit for bodies is small too."""

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
            first_byte=LONGEST_DEADLINE,
            idle=LONGEST_DEADLINE,
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
        answer = await self._post_signed(
            url, signing_key, encode_can_handle(source_url, source_type), deadline
        )
        if answer.error is not None or answer.status is None:
            return FetcherAnswer("silent", answer.error or "bad_http", answer.error_detail)
        return parse_can_handle_answer(answer.status, answer.body)

    async def post(
        self,
        url: str,
        signing_key: bytes | None,
        body: bytes,
        deadline: float,
        message_id: str | None = None,
    ) -> HttpReply:
        answer = await self._post_signed(url, signing_key, body, deadline, message_id)
        return HttpReply(answer.status, answer.body, answer.error, answer.error_detail)

    async def close(self) -> None:
        await self._web.close()

    async def _post_signed(
        self,
        url: str,
        signing_key: bytes | None,
        body: bytes,
        deadline: float,
        message_id: str | None = None,
    ) -> HttpAnswer:
        headers: Headers = (
            ("User-Agent", self._user_agent),
            ("Content-Type", "application/json"),
            ("Accept", "application/json"),
            *self._signature_headers(signing_key, message_id or f"msg_{token_hex(16)}", body),
        )
        return await self._web.post(url, headers, body, deadline=deadline)

    def _signature_headers(self, key: bytes | None, message_id: str, body: bytes) -> Headers:
        if key is None:
            return ((ID, message_id),)
        return sign(key, message_id, self._clock.now(), body)
