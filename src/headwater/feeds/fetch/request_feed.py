"""Request a feed's document: one conditional GET, with redirects followed by hand."""

import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from headwater.core.errors import BadInput, BadSettings
from headwater.core.ports import Clock
from headwater.core.values.response import Exchange, Headers, Hop, HttpAnswer, Validators
from headwater.core.values.url import host_of
from headwater.feeds.fetch.content_coding import ACCEPTED
from headwater.feeds.fetch.outcome import AnswerContext, Failed, Outcome, failed, outcome_of_answer
from headwater.feeds.fetch.redact_headers import hide_credential_headers
from headwater.feeds.fetch.redirects import FOLLOWED, BadRedirect, redirect_target
from headwater.feeds.fetch.validators import condition_headers
from headwater.feeds.keyring import Keyring
from headwater.web.address_gate import AddressPolicy, check_url
from headwater.web.ports import Web
from headwater.web.retry_after import DAY

ACCEPT = (
    "application/atom+xml, application/rss+xml, application/feed+json, application/rdf+xml;q=0.9, "
    "application/xml;q=0.8, text/xml;q=0.8, application/json;q=0.7, */*;q=0.1"
)

_ONE_LINE = re.compile(r"[!-~](?:[ -~]{0,1022}[!-~])?")

HopTurn = Callable[[str], Awaitable[None]]
"""Waits until it is polite to request a host that a redirect led to."""


@dataclass(frozen=True, slots=True)
class FetchRequest:
    """A request for a URL, if it changed since these validators; `keys` for a private feed."""

    url: str
    validators: Validators = field(default_factory=Validators)
    verify_tls: bool = True
    keys: Keyring | None = field(default=None, repr=False)

    @property
    def is_conditional(self) -> bool:
        return self.validators.etag is not None or self.validators.last_modified is not None


@dataclass(frozen=True, slots=True)
class FetchPolicy:
    """How all feeds are requested. `accepted_types` are lower-case media types; None takes all."""

    user_agent: str
    deadline: float = 30.0
    max_redirects: int = 5
    retry_after_cap: float = DAY
    accepted_types: tuple[str, ...] | None = None
    accept: str = ACCEPT
    address: AddressPolicy = field(default_factory=AddressPolicy)

    def __post_init__(self) -> None:
        if not _ONE_LINE.fullmatch(self.user_agent) or not _ONE_LINE.fullmatch(self.accept):
            raise BadSettings("User-Agent and Accept must be one line of printable ASCII.")


async def fetch_url(
    request: FetchRequest,
    policy: FetchPolicy,
    web: Web,
    clock: Clock,
    hop_turn: HopTurn | None = None,
) -> Outcome:
    """Fetch the feed's URL, within one deadline for all hops.

    The validators are sent on every hop: they came from the answer at the end of the same chain,
    so a feed that redirects can still answer "not modified". Credentials are looked up anew for
    every hop, and sent to the feed's own origin only; the record never holds them.
    """
    chain = _RequestChain(request, policy, clock)
    headers = request_headers(request.validators, policy)
    while (refusal := chain.refusal()) is None:
        credential_headers = request.keys.headers_for(chain.url) if request.keys else ()
        served = await web.get(
            chain.url,
            _joined(headers, credential_headers) if credential_headers else headers,
            deadline=chain.remaining(),
            verify_tls=request.verify_tls,
        )
        answer = _without_secrets(served, credential_headers) if credential_headers else served
        target = chain.next_target(answer)
        if target is None:
            return outcome_of_answer(chain.exchange(answer), chain.context())
        if isinstance(target, BadRedirect):
            return failed(chain.exchange(answer), "bad_redirect", target.detail)
        await chain.hop_to(target, answer, hop_turn)
    return refusal


def request_headers(validators: Validators, policy: FetchPolicy) -> Headers:
    """The headers of every request; the credentials of a private feed come on top."""
    return (
        ("User-Agent", policy.user_agent),
        ("Accept", policy.accept),
        ("Accept-Encoding", ACCEPTED),
        *condition_headers(validators),
    )


def _joined(headers: Headers, credential_headers: Headers) -> Headers:
    """A feed's credentials replace our header fields of the same name."""
    names = {name.lower() for name, _ in credential_headers}
    return (
        *((name, value) for name, value in headers if name.lower() not in names),
        *credential_headers,
    )


def _without_secrets(answer: HttpAnswer, credential_headers: Headers) -> HttpAnswer:
    return answer._replace(
        request_headers=hide_credential_headers(answer.request_headers, credential_headers)
    )


class _RequestChain:
    """A request that follows redirects: the current URL, the hops so far, the time left."""

    def __init__(self, request: FetchRequest, policy: FetchPolicy, clock: Clock) -> None:
        self.url = request.url
        self._request, self._policy, self._clock = request, policy, clock
        self._started_at, self._since = clock.now(), clock.monotonic()
        self._hops: tuple[Hop, ...] = ()
        self._last: HttpAnswer | None = None

    def remaining(self) -> float:
        return self._policy.deadline - (self._clock.monotonic() - self._since)

    def refusal(self) -> Failed | None:
        """The failure when the current URL must not be requested at all."""
        if len(self._hops) > self._policy.max_redirects:
            return self._failed("too_many_redirects", f"{len(self._hops)} redirects in a row")
        if self._hops and any(hop.url == self.url for hop in self._hops):
            return self._failed("too_many_redirects", "the redirects lead back to where they began")
        if self.remaining() <= 0:
            return self._failed("timeout", f"redirects took more than {self._policy.deadline} s")
        try:
            check_url(self.url, self._policy.address)
        except BadInput as error:
            return self._failed(error.code, error.message)
        return None

    def next_target(self, answer: HttpAnswer) -> str | BadRedirect | None:
        if answer.error is not None or answer.status not in FOLLOWED:
            return None
        return redirect_target(self.url, answer.response_headers)

    async def hop_to(self, target: str, answer: HttpAnswer, hop_turn: HopTurn | None) -> None:
        """Follow a redirect. The turn of another host is waited for like that of any host."""
        self._hops += (Hop(self.url, answer.status or 0, target, answer.address),)
        self._last = answer
        changes_host = host_of(target) != host_of(self.url)
        self.url = target
        if changes_host and hop_turn is not None and self.refusal() is None:
            began = self._clock.monotonic()
            await hop_turn(host_of(target))
            # The time we wait for a turn is our politeness, not slowness of the host.
            self._since += self._clock.monotonic() - began

    def exchange(self, answer: HttpAnswer) -> Exchange:
        return Exchange(self._request.url, self._started_at, answer, self._hops)

    def context(self) -> AnswerContext:
        return AnswerContext(
            conditional=self._request.is_conditional,
            now=self._clock.now(),
            retry_after_cap=self._policy.retry_after_cap,
            accepted_types=self._policy.accepted_types,
        )

    def _failed(self, code: str, detail: str) -> Failed:
        last = self._last or HttpAnswer(self._request.url, None, (), (), b"", 0.0)
        return failed(self.exchange(last), code, detail)
