"""A fetcher in twenty lines: write `can_handle` and `visit`, then call `run()`.

from headwater.sdk.fetcher import Entries, Fetcher, Question, Work

def can_handle(question: Question) -> bool:
    return question.source_type == "weather"

def visit(work: Work) -> Entries:
    return Entries([{"id": "today", "title": "Rain", "url": work.source_url}])

Fetcher("weather", can_handle, visit, headwater="http://127.0.0.1:8470").run()
"""

import logging
import os
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from queue import Empty, SimpleQueue

import orjson

from headwater.core.errors import HeadwaterError
from headwater.core.values.signature import key_of_secret
from headwater.sdk.client import About as About
from headwater.sdk.client import Client as Client
from headwater.sdk.client import Identity
from headwater.sdk.client import Refusal as Refusal
from headwater.sdk.client import Unreachable as Unreachable
from headwater.sdk.listener import FetcherListener
from headwater.sdk.results import Document as Document
from headwater.sdk.results import Entries as Entries
from headwater.sdk.results import Failed as Failed
from headwater.sdk.results import Gone as Gone
from headwater.sdk.results import News as News
from headwater.sdk.results import Question as Question
from headwater.sdk.results import Raw as Raw
from headwater.sdk.results import Result as Result
from headwater.sdk.results import Throttled as Throttled
from headwater.sdk.results import Unchanged as Unchanged
from headwater.sdk.results import Work as Work

Visit = Callable[[Work], Result]
CanHandle = Callable[[Question], bool]
OnNews = Callable[[News], object]

LOOK_EVERY = 30.0
"""Seconds between claims when no news of work comes."""
AFTER_TROUBLE = 5.0
LONGEST_LEASE = 86_400.0
"""The longest lease that Headwater grants."""
_UNAUTHORIZED = 401
_NO_RESULT = frozenset({400, 413, 422})
"""Statuses for a bad result: Headwater would refuse it again tomorrow."""

logger = logging.getLogger("headwater.sdk")


class Fetcher:
    """Joins, answers, works and reports until `stop`. It makes several visits at once, and renews
    their leases."""

    def __init__(
        self,
        name: str,
        can_handle: CanHandle,
        visit: Visit,
        *,
        headwater: str,
        token: str | None = None,
        listen: tuple[str, int] = ("127.0.0.1", 0),
        base_url: str | None = None,
        state: Path | None = None,
        on_news: OnNews | None = None,
        about: About | None = None,
        at_once: int = 4,
        lease_seconds: float = 30.0,
    ) -> None:
        """The `token` needs the scope `register`; the default is the variable HEADWATER_TOKEN.

        `listen` is the address for Headwater's questions; `base_url` is the URL at which Headwater
        reaches it, if that differs. The file `state` keeps the fetcher's own token from one start
        to the next; without it every start asks for a new one. A lease is renewed as long as its
        visit takes: with a short one, the work of a fetcher that died is soon done by another.
        """
        self._visit, self._on_news = visit, on_news
        self._state, self._at_once, self._lease = state, at_once, lease_seconds
        self._listener = FetcherListener(*listen, can_handle, self._on_message)
        host = f"[{listen[0]}]" if ":" in listen[0] else listen[0]
        self.base_url = base_url or f"http://{host}:{self._listener.port}"
        self._name, self._about = name, about
        self._headwater = headwater
        self._register_client = Client(headwater, token or os.environ.get("HEADWATER_TOKEN"))
        self._client = self._register_client
        self._identity = Identity(0, None, None)
        self._running: dict[Future[None], Work] = {}
        self._renewed_at = time.monotonic()
        self._wake_up, self._stopped = _WakeUp(), False

    @property
    def fetcher_id(self) -> int:
        return self._identity.fetcher_id

    def run(self) -> None:
        """Run until `stop` is called, from another thread or a signal handler."""
        self._listener.start()
        try:
            self._retry(self._join)
            with ThreadPoolExecutor(self._at_once, "visit") as pool:
                try:
                    while not self._stopped:
                        self._work_once(pool)
                finally:
                    self._give_back_waiting()
        finally:
            self._listener.stop()

    def stop(self) -> None:
        """Running visits come to their end; other work is given back."""
        self._stopped = True
        self._wake_up.wake()

    def _retry(self, action: Callable[[], None]) -> None:
        while not self._stopped:
            try:
                action()
            except (Unreachable, Refusal) as trouble:
                if isinstance(trouble, Refusal) and not trouble.may_pass:
                    raise
                logger.warning("%s", trouble.message)
                self._wake_up.wait(AFTER_TROUBLE)
            else:
                return

    def _join(self) -> None:
        """Ask for new secrets only when we have none: new ones end the old ones."""
        saved = _load_identity(self._state)
        identity = self._register_client.join(self._name, self.base_url, self._about)
        if identity.token is not None:
            self._use_identity(identity)
        elif saved is not None and saved.fetcher_id == identity.fetcher_id:
            self._use_identity(saved)
        else:
            self._join_anew()

    def _join_anew(self) -> None:
        """Our token is no longer valid; another process of ours may have saved a newer one."""
        saved = _load_identity(self._state)
        if saved is not None and saved.token != self._identity.token:
            self._use_identity(saved)
        else:
            self._use_identity(
                self._register_client.join(self._name, self.base_url, self._about, rotate=True)
            )

    def _use_identity(self, identity: Identity) -> None:
        _save_identity(self._state, identity)
        self._identity = identity
        self._client = Client(self._headwater, identity.token)
        secret = identity.signing_key
        self._listener.key = None if secret is None else key_of_secret(secret)
        logger.info("joined as fetcher %d, reached at %s", identity.fetcher_id, self.base_url)

    def _work_once(self, pool: ThreadPoolExecutor) -> None:
        """Renew running work, claim as much as there is room for, then wait until something
        happens."""
        pause = LOOK_EVERY
        try:
            self._renew()
            pause = self._take_work(pool)
        except Refusal as trouble:
            logger.warning("%s: %s", trouble.code, trouble.message)
            pause = AFTER_TROUBLE
            if trouble.status == _UNAUTHORIZED:
                self._retry(self._join_anew)
        except HeadwaterError as trouble:
            logger.warning("%s: %s", trouble.code, trouble.message)
            pause = AFTER_TROUBLE
        self._wake_up.wait(min(pause, self._lease / 3) if self._running else pause)

    def _take_work(self, pool: ThreadPoolExecutor) -> float:
        """Claim work and begin its visits. Returns the seconds after which there may be more."""
        room = self._at_once - len(self._running)
        if room <= 0:
            return LOOK_EVERY
        works, next_due = self._client.claim(self.fetcher_id, limit=room, lease_seconds=self._lease)
        for work in works:
            if work.not_before is not None and _seconds_until(work.not_before) > 0:
                # A host gets the rest it asked for: the work is due again when the longer lease
                # ends.
                rest = min(max(_seconds_until(work.not_before), 0.0), LONGEST_LEASE)
                self._client.renew(self.fetcher_id, [work], lease_seconds=rest)
                continue
            running = pool.submit(self._run_visit, work)
            self._running[running] = work
            running.add_done_callback(self._visit_ended)
        if works:
            return 0.0
        if next_due is None:
            return LOOK_EVERY
        return min(LOOK_EVERY, max(0.2, _seconds_until(datetime.fromisoformat(next_due))))

    def _run_visit(self, work: Work) -> None:
        began = time.monotonic()
        try:
            result = self._visit(work)
        except Exception as trouble:  # noqa: BLE001 -- a builder's own code: we report its errors
            result = _failed_by_exception(work, trouble)
        elapsed = (time.monotonic() - began) * 1000
        try:
            self._report(work, result, elapsed)
        except HeadwaterError as trouble:
            # The lease ends by itself, and the work is due again.
            logger.warning("report of %d: %s", work.subscription_id, trouble.message)

    def _report(self, work: Work, result: Result, elapsed: float) -> None:
        """A result that Headwater can never take is reported as a failed visit. Otherwise the
        source would be asked again for ever, with the same result, as soon as the lease ends."""
        try:
            self._client.report(self.fetcher_id, work, result, elapsed_ms=elapsed)
        except Exception as trouble:
            is_about_result = isinstance(trouble, Refusal) and trouble.status in _NO_RESULT
            if isinstance(trouble, HeadwaterError) and not is_about_result:
                raise
            failed = _failed_by_exception(work, trouble)
            self._client.report(self.fetcher_id, work, failed, elapsed_ms=elapsed)

    def _visit_ended(self, running: Future[None]) -> None:
        self._running.pop(running, None)
        self._wake_up.wake()

    def _renew(self) -> None:
        works, now = list(self._running.values()), time.monotonic()
        if works and now - self._renewed_at >= self._lease / 3:
            self._client.renew(self.fetcher_id, works, lease_seconds=self._lease)
            self._renewed_at = now

    def _give_back_waiting(self) -> None:
        waiting = [work for running, work in list(self._running.items()) if running.cancel()]
        try:
            if waiting:
                self._client.renew(self.fetcher_id, waiting, lease_seconds=0)
        except HeadwaterError as trouble:
            logger.warning("not given back: %s", trouble.message)
        wait(list(self._running))

    def _on_message(self, news: News) -> None:
        if self._on_news is not None:
            self._on_news(news)
        self._wake_up.wake()


class _WakeUp:
    """Wakes the thread that waits. A signal handler may call `wake` too: unlike an Event it has no
    lock that the interrupted thread could hold."""

    def __init__(self) -> None:
        self._signals: SimpleQueue[None] = SimpleQueue()

    def wake(self) -> None:
        self._signals.put(None)

    def wait(self, seconds: float) -> None:
        """Wait until somebody calls `wake`, or did since the last wait, or the time is over."""
        with suppress(Empty):
            self._signals.get(timeout=max(seconds, 0.001))
            while True:
                self._signals.get_nowait()


def _failed_by_exception(work: Work, trouble: Exception) -> Failed:
    logger.error("the visit of subscription %d failed", work.subscription_id, exc_info=trouble)
    return Failed(f"{type(trouble).__name__}: {trouble}", code="fetcher_error")


def _seconds_until(moment: datetime) -> float:
    return (moment - datetime.now(UTC)).total_seconds()


def _load_identity(state: Path | None) -> Identity | None:
    """None also for a damaged file: we ask for new secrets then, as without a file."""
    if state is None or not state.exists():
        return None
    try:
        fields = orjson.loads(state.read_bytes())
        return Identity(fields["fetcher_id"], fields["token"], fields["signing_key"])
    except (ValueError, KeyError, TypeError):
        logger.warning("%s is damaged, and is written anew", state)
        return None


def _save_identity(state: Path | None, identity: Identity) -> None:
    """Save the identity in a file that only we can read, whole or not at all."""
    if state is None:
        return
    fields = {
        "fetcher_id": identity.fetcher_id,
        "token": identity.token,
        "signing_key": identity.signing_key,
    }
    draft = state.with_name(f".{state.name}.new")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with open(descriptor, "wb") as out:
        out.write(orjson.dumps(fields))
        out.flush()
        os.fsync(out.fileno())  # else a power cut may leave the new name without its content
    draft.replace(state)
