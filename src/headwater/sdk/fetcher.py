"""A whole fetcher in twenty lines: say what you can handle and how you visit it, then `run()`.

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
"""How often work is asked for when nobody told of any."""
AFTER_TROUBLE = 5.0
LONGEST_LEASE = 86_400.0
"""What Headwater lets anybody ask for."""
_UNAUTHORIZED = 401
_NO_RESULT = frozenset({400, 413, 422})

logger = logging.getLogger("headwater.sdk")


class Fetcher:
    """Joins, answers, works and reports until `stop`; several visits at once, leases renewed."""

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
        """`token` is one with the scope `register` (or the variable HEADWATER_TOKEN).

        `listen` is where Headwater's questions come in; `base_url` how Headwater reaches that, if
        not just so. In the file `state` the fetcher's own token is kept from one start to the next;
        without it every start asks for a new one. A lease is renewed as long as its visit takes: a
        short one means that the work of a fetcher that died is soon done by another.
        """
        self._visit, self._on_news = visit, on_news
        self._state, self._at_once, self._lease = state, at_once, lease_seconds
        self._ear = FetcherListener(*listen, can_handle, self._hear)
        self.base_url = base_url or f"http://{_url_host(listen[0])}:{self._ear.port}"
        self._name, self._about = name, about
        self._headwater = headwater
        self._door = Client(headwater, token or os.environ.get("HEADWATER_TOKEN"))
        self._inside = self._door
        self._identity = Identity(0, None, None)
        self._running: dict[Future[None], Work] = {}
        self._renewed_at = time.monotonic()
        self._bell, self._stopped = _WakeUp(), False

    @property
    def fetcher_id(self) -> int:
        return self._identity.fetcher_id

    def run(self) -> None:
        """Until `stop` is called, from another thread or a signal handler."""
        self._ear.start()
        try:
            self._until_it_works(self._join)
            with ThreadPoolExecutor(self._at_once, "visit") as pool:
                try:
                    while not self._stopped:
                        self._turn(pool)
                finally:
                    self._give_back_what_has_not_begun()
        finally:
            self._ear.stop()

    def stop(self) -> None:
        """Visits under way come to their end; the rest is given back."""
        self._stopped = True
        self._bell.ring()

    def _until_it_works(self, action: Callable[[], None]) -> None:
        while not self._stopped:
            try:
                action()
            except (Unreachable, Refusal) as trouble:
                if isinstance(trouble, Refusal) and not trouble.may_pass:
                    raise
                logger.warning("%s", trouble.message)
                self._bell.wait(AFTER_TROUBLE)
            else:
                return

    def _join(self) -> None:
        """New secrets are asked for only when we have none: that ends the old ones."""
        kept = _load_identity(self._state)
        got = self._door.join(self._name, self.base_url, self._about)
        if got.token is not None:
            self._become(got)
        elif kept is not None and kept.fetcher_id == got.fetcher_id:
            self._become(kept)
        else:
            self._join_anew()

    def _join_anew(self) -> None:
        """Our token is not good any more; another process of ours may have a newer one."""
        kept = _load_identity(self._state)
        if kept is not None and kept.token != self._identity.token:
            self._become(kept)
        else:
            self._become(self._door.join(self._name, self.base_url, self._about, rotate=True))

    def _become(self, identity: Identity) -> None:
        _save_identity(self._state, identity)
        self._identity = identity
        self._inside = Client(self._headwater, identity.token)
        secret = identity.signing_key
        self._ear.key = None if secret is None else key_of_secret(secret)
        logger.info("joined as fetcher %d, reached at %s", identity.fetcher_id, self.base_url)

    def _turn(self, pool: ThreadPoolExecutor) -> None:
        """Take what there is room for, keep what is under way, wait for something to happen."""
        pause = LOOK_EVERY
        try:
            self._renew()
            pause = self._take_work(pool)
        except Refusal as trouble:
            logger.warning("%s: %s", trouble.code, trouble.message)
            pause = AFTER_TROUBLE
            if trouble.status == _UNAUTHORIZED:
                self._until_it_works(self._join_anew)
        except HeadwaterError as trouble:
            logger.warning("%s: %s", trouble.code, trouble.message)
            pause = AFTER_TROUBLE
        self._bell.wait(min(pause, self._lease / 3) if self._running else pause)

    def _take_work(self, pool: ThreadPoolExecutor) -> float:
        """The seconds after which there may be more."""
        room = self._at_once - len(self._running)
        if room <= 0:
            return LOOK_EVERY
        works, next_due = self._inside.claim(self.fetcher_id, limit=room, lease_seconds=self._lease)
        for work in works:
            if work.not_before is not None and _seconds_until(work.not_before) > 0:
                self._put_off(work, work.not_before)
                continue
            running = pool.submit(self._do, work)
            self._running[running] = work
            running.add_done_callback(self._over)
        if works:
            return 0.0
        if next_due is None:
            return LOOK_EVERY
        return min(LOOK_EVERY, max(0.2, _seconds_until(datetime.fromisoformat(next_due))))

    def _put_off(self, work: Work, until: datetime) -> None:
        """A host that asked for rest gets it: the work is due again when the longer lease ends."""
        rest = min(max(_seconds_until(until), 0.0), LONGEST_LEASE)
        self._inside.renew(self.fetcher_id, [work], lease_seconds=rest)

    def _do(self, work: Work) -> None:
        began = time.monotonic()
        try:
            result = self._visit(work)
        except Exception as trouble:  # noqa: BLE001 -- a builder's own code: its trouble is told
            result = _failed_by_exception(work, trouble)
        elapsed = (time.monotonic() - began) * 1000
        try:
            self._report(work, result, elapsed)
        except HeadwaterError as trouble:
            # The lease ends by itself, and the work is due again.
            logger.warning("report of %d: %s", work.subscription_id, trouble.message)

    def _report(self, work: Work, result: Result, elapsed: float) -> None:
        """What can never be taken is a failed visit: else the source would be asked again, with
        the same result, as soon as the lease ends, for ever."""
        try:
            self._inside.report(self.fetcher_id, work, result, elapsed_ms=elapsed)
        except Exception as trouble:
            if isinstance(trouble, HeadwaterError) and not _is_about_the_result(trouble):
                raise
            failed = _failed_by_exception(work, trouble)
            self._inside.report(self.fetcher_id, work, failed, elapsed_ms=elapsed)

    def _over(self, running: Future[None]) -> None:
        self._running.pop(running, None)
        self._bell.ring()

    def _renew(self) -> None:
        works, now = list(self._running.values()), time.monotonic()
        if works and now - self._renewed_at >= self._lease / 3:
            self._inside.renew(self.fetcher_id, works, lease_seconds=self._lease)
            self._renewed_at = now

    def _give_back_what_has_not_begun(self) -> None:
        waiting = [work for running, work in list(self._running.items()) if running.cancel()]
        try:
            if waiting:
                self._inside.renew(self.fetcher_id, waiting, lease_seconds=0)
        except HeadwaterError as trouble:
            logger.warning("not given back: %s", trouble.message)
        wait(list(self._running))

    def _hear(self, news: News) -> None:
        if self._on_news is not None:
            self._on_news(news)
        self._bell.ring()


class _WakeUp:
    """Wakes whoever waits. A signal handler may ring it too: unlike an Event it has no lock that
    the interrupted thread could hold."""

    def __init__(self) -> None:
        self._rings: SimpleQueue[None] = SimpleQueue()

    def ring(self) -> None:
        self._rings.put(None)

    def wait(self, seconds: float) -> None:
        """Until somebody rings, or has rung since the last wait, or the time is over."""
        with suppress(Empty):
            self._rings.get(timeout=max(seconds, 0.001))
            while True:
                self._rings.get_nowait()


def _failed_by_exception(work: Work, trouble: Exception) -> Failed:
    """Told to the log and to Headwater."""
    logger.error("the visit of subscription %d failed", work.subscription_id, exc_info=trouble)
    return Failed(f"{type(trouble).__name__}: {trouble}", code="fetcher_error")


def _is_about_the_result(trouble: HeadwaterError) -> bool:
    """Headwater would say the same of this result tomorrow."""
    return isinstance(trouble, Refusal) and trouble.status in _NO_RESULT


def _seconds_until(moment: datetime) -> float:
    return (moment - datetime.now(UTC)).total_seconds()


def _url_host(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _load_identity(state: Path | None) -> Identity | None:
    """None also for a damaged file: new secrets are asked for then, as without any."""
    if state is None or not state.exists():
        return None
    try:
        said = orjson.loads(state.read_bytes())
        return Identity(said["fetcher_id"], said["token"], said["signing_key"])
    except (ValueError, KeyError, TypeError):
        logger.warning("%s is damaged, and is written anew", state)
        return None


def _save_identity(state: Path | None, identity: Identity) -> None:
    """For our own eyes only, whole or not at all."""
    if state is None:
        return
    said = {
        "fetcher_id": identity.fetcher_id,
        "token": identity.token,
        "signing_key": identity.signing_key,
    }
    draft = state.with_name(f".{state.name}.new")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with open(descriptor, "wb") as out:
        out.write(orjson.dumps(said))
        out.flush()
        os.fsync(out.fileno())  # else a power cut may leave the new name without its content
    draft.replace(state)
