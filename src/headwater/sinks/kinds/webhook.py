"""The kind of sink for webhooks: events posted one at a time and in order, by Standard Webhooks."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from secrets import token_bytes
from typing import Any

from headwater.core.errors import BadInput
from headwater.core.ports import Clock
from headwater.core.values.response import Headers, HttpAnswer, header
from headwater.core.values.signature import SIGNATURE, key_of_secret, secret_of, sign
from headwater.core.values.url import check_source_url
from headwater.events.event_json import WireEvent
from headwater.sinks.kinds.options import SinkOptions
from headwater.sinks.ports import DeliveryResult, SinkConfig
from headwater.sinks.sink_kind import CheckedOptions, SinkKind, SinkResources
from headwater.web.address_gate import AddressPolicy, check_url
from headwater.web.http_client import CurlWeb
from headwater.web.limits import WebLimits
from headwater.web.retry_after import DAY, parse_retry_after

MOST_ANSWER_BYTES = 64 * 1024
TIMEOUT, SHORTEST_TIMEOUT, LONGEST_TIMEOUT = 10.0, 1.0, 30.0
TURN_SECONDS = 2.0
"""A longer turn ends after its present message, so that progress can be written."""

_SECRET_BYTES = 32
_GONE = 410
_ABOUT_THE_EVENT = frozenset({400, 413, 422})
_ASKS_FOR_REST = frozenset({429, 503})
_SHOWN = 200
_LONGEST_REST = 366 * DAY
"""A bound for any Retry-After; the policy of sinks limits the rest that is kept."""


ATTEMPTS = 36
"""Tries before an event dies: about a day and a half."""


def webhook_kind(resources: SinkResources) -> SinkKind:
    return SinkKind(
        check=partial(check_webhook_options, address=resources.address),
        open=partial(open_webhook_sink, resources=resources),
        is_signed=True,
        attempts=ATTEMPTS,
    )


def check_webhook_options(
    options: Mapping[str, Any], secrets: Mapping[str, str], address: AddressPolicy
) -> CheckedOptions:
    """Options and secrets with defaults filled in; a missing secret is made."""
    sink_options, sink_secrets = (
        SinkOptions("webhook", options),
        SinkOptions("webhook secret", secrets),
    )
    checked = {
        "url": _check_url(sink_options, address),
        "timeout_sec": sink_options.number(
            "timeout_sec", TIMEOUT, least=SHORTEST_TIMEOUT, most=LONGEST_TIMEOUT
        ),
    }
    sink_options.refuse_others()
    checked_secrets = {"secret": sink_secrets.text("secret", secret_of(token_bytes(_SECRET_BYTES)))}
    if (previous := sink_secrets.maybe_text("previous_secret")) is not None:
        checked_secrets["previous_secret"] = previous
    sink_secrets.refuse_others()
    for name, secret in checked_secrets.items():
        _check_secret(name, secret)
    return checked, checked_secrets


async def open_webhook_sink(config: SinkConfig, resources: SinkResources) -> "WebhookSink":
    names = ("secret", "previous_secret")
    return WebhookSink(
        config.options["url"],
        [key_of_secret(config.secrets[name]) for name in names if name in config.secrets],
        timeout=config.options["timeout_sec"],
        limits=resources.web_limits,
        address=resources.address,
        clock=resources.clock,
        user_agent=resources.user_agent,
    )


class WebhookSink:
    """One connection, kept open for as long as the receiver keeps it.

    A receiver that answers 2xx has taken the event, whatever happens to the rest of its answer.
    """

    def __init__(
        self,
        url: str,
        keys: Sequence[bytes],
        *,
        timeout: float,
        limits: WebLimits,
        address: AddressPolicy,
        clock: Clock,
        user_agent: str,
        turn: float = TURN_SECONDS,
    ) -> None:
        """`keys`: the present one first, then the one it replaces; both sign every message."""
        small = replace(
            limits,
            body_bytes=MOST_ANSWER_BYTES,
            host_connections=1,
            kept_connections=1,
            kept_handles=1,
            first_byte=timeout,
            idle=timeout,
        )
        self._web = CurlWeb(small, address)
        self._url, self._keys, self._timeout = url, tuple(keys), timeout
        self._clock, self._turn = clock, turn
        self._common: Headers = (
            ("User-Agent", user_agent),
            ("Content-Type", "application/json"),
            ("Accept", "*/*"),
        )

    async def deliver(self, events: Sequence[WireEvent], *, replay: int) -> DeliveryResult:
        """Post events one by one. Fewer than all without trouble: the turn was over."""
        began = time.monotonic()
        for taken, event in enumerate(events):
            if taken and time.monotonic() - began > self._turn:
                return DeliveryResult(taken)
            refusal = await self._refusal(event, taken)
            if refusal is not None:
                return refusal
        return DeliveryResult(len(events))

    async def close(self) -> None:
        await self._web.close()

    async def _refusal(self, event: WireEvent, taken: int) -> DeliveryResult | None:
        now = self._clock.now()
        try:
            signed = signature_headers(self._keys, event.event_id, now, event.body)
        except BadInput as trouble:  # an id that no header can carry
            return DeliveryResult(taken, trouble.code, trouble.message, about="event")
        answer = await self._web.post(
            self._url, (*self._common, *signed), event.body, deadline=self._timeout
        )
        return refusal_of(answer, taken, now)


def signature_headers(keys: Sequence[bytes], message_id: str, at: datetime, body: bytes) -> Headers:
    """The three fields of Standard Webhooks; one signature for each key, with a space between."""
    signed = [dict(sign(key, message_id, at, body)) for key in keys]
    together = " ".join(fields[SIGNATURE] for fields in signed)
    return tuple((signed[0] | {SIGNATURE: together}).items())


def refusal_of(answer: HttpAnswer, taken: int, now: datetime) -> DeliveryResult | None:
    """The reason why a message was not taken; None when it was."""
    status = answer.status
    if status is None:
        return DeliveryResult(taken, answer.error or "bad_http", answer.error_detail)
    if 200 <= status < 300:
        return None
    trouble, detail = f"http_{status}", _answer_text(answer)
    if status == _GONE:
        return DeliveryResult(taken, trouble, detail, gone=True)
    if status in _ABOUT_THE_EVENT:
        return DeliveryResult(taken, trouble, detail, about="event")
    rest = header(answer.response_headers, "Retry-After") if status in _ASKS_FOR_REST else None
    return DeliveryResult(
        taken, trouble, detail, retry_after=parse_retry_after(rest, now, _LONGEST_REST)
    )


def _answer_text(answer: HttpAnswer) -> str:
    """The beginning of the answer, for people: printable, in one line."""
    if answer.status is not None and 300 <= answer.status < 400:
        return "The receiver redirects; webhooks follow no redirects."
    text = answer.body[: 4 * _SHOWN].decode("utf-8", "replace")[:_SHOWN]
    return "".join(character if character.isprintable() else " " for character in text).strip()


def _check_url(sink_options: SinkOptions, address: AddressPolicy) -> str:
    """Refuse early what the URL shows; the address that is connected to is checked at the
    socket."""
    try:
        url = check_source_url(sink_options.text("url"))
        check_url(url, address)
    except BadInput as trouble:
        trouble.facts.setdefault("field", "url")
        raise
    return url


def _check_secret(name: str, secret: str) -> None:
    try:
        key_of_secret(secret)
    except BadInput as trouble:
        trouble.facts["field"] = name
        raise
