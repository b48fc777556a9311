"""A torrent, fetched by ourselves through the gate and looked through before any client gets it."""

import asyncio
from dataclasses import replace
from typing import NoReturn

from headwater.by_hand import BY_HAND
from headwater.collect.candidate import Candidate
from headwater.collect.contents import contents_of
from headwater.collect.download import STANDING, Download
from headwater.collect.downloads import queries, store
from headwater.collect.downloads.store import Step
from headwater.collect.magnet import read_magnet
from headwater.collect.shows import queries as shows
from headwater.collect.title import read_title
from headwater.collect.torrent import Torrent, read_torrent
from headwater.download_work import Facts, Setback, Work
from headwater.errors import BadInput, NotFound, SecretUnreadable, TooSoon
from headwater.fetch.decode import decoded
from headwater.fetch.outcome import Failed, Fetched, Gone, Outcome, Throttled, Unchanged
from headwater.fetch.steps import Ask, ask
from headwater.media_ports import JobFile
from headwater.ports import Transaction
from headwater.schedule import queries as feeds
from headwater.unlock import keyring_of
from headwater.values.response import header
from headwater.values.url import host_of

ACCEPT = "application/x-bittorrent, application/octet-stream;q=0.8, */*;q=0.1"

_TRIES_BEFORE_THE_MAGNET = 3
"""A site that does not give its torrent has often named a magnet link too."""

_BAD_ONES = 3
"""A page in place of a torrent may be a passing mood of the site; not for long."""

_NEVER = frozenset({"blocked_address", "bad_url", "too_many_redirects", "bad_redirect"})
"""What no further try would change."""

_DOWN = frozenset(
    {
        "dns_error",
        "connect_error",
        "timeout",
        "connection_lost",
        "incomplete_body",
        "network_error",
        "http_500",
        "http_502",
        "http_504",
        "http_5xx",
    }
)
"""The site, or our own network, is down: that says nothing of the torrent."""


async def obtain(work: Work) -> Download | None:
    """intended → ready. Nothing was asked of the client yet."""
    facts = await work.facts()
    candidate = facts.row.candidate
    async with work.engine.database.read() as view:
        body = await queries.torrent(view, work.download.id)
    if body is None and _wants_magnet(candidate, work.download.attempts):
        return await _ready(work, facts, _magnet_hash(candidate), None, None)
    if body is None:
        body = await _fetched(work, facts, candidate.torrent_url or "")
    torrent = await _read(work, body)
    _refuse_another(candidate, torrent)
    await asyncio.to_thread(refuse_useless, facts, work.download, torrent)
    return await _ready(work, facts, torrent.infohash, body, torrent.size)


def _wants_magnet(candidate: Candidate, attempts: int) -> bool:
    if candidate.torrent_url is None:
        return True
    return candidate.magnet is not None and attempts >= _TRIES_BEFORE_THE_MAGNET


def _magnet_hash(candidate: Candidate) -> str:
    magnet = read_magnet(candidate.magnet or "")
    if magnet is None:
        raise Setback(
            "nothing_to_fetch", "There is neither a torrent nor a magnet link.", lasting=True
        )
    return magnet.infohash[:40]


async def _read(work: Work, body: bytes) -> Torrent:
    policy = work.media.policy
    try:
        return await asyncio.to_thread(
            read_torrent, body, most_bytes=policy.torrent_bytes, most_files=policy.torrent_files
        )
    except BadInput as trouble:
        is_over = work.download.attempts + 1 >= _BAD_ONES
        has_magnet = work.download.magnet is not None
        raise Setback(
            trouble.code, trouble.message, lasting=is_over and not has_magnet
        ) from trouble


def _refuse_another(candidate: Candidate, torrent: Torrent) -> None:
    """The feed said which torrent it is; another one is not what was decided on."""
    if candidate.infohash is None or candidate.is_torrent(torrent.infohash):
        return
    if not candidate.is_torrent(torrent.infohash_v2):
        detail = f"The feed said {candidate.infohash}, and what came is {torrent.infohash}."
        raise Setback("other_torrent", detail, lasting=True)


def refuse_useless(facts: Facts, download: Download, torrent: Torrent) -> None:
    """Before it is downloaded: is anything in it that it was chosen for? Not quick for many."""
    files = [JobFile("/".join(f.path), f.length) for f in torrent.files if not f.is_padding]
    found = contents_of(
        files, facts.show.show, download.slots, lambda name: read_title(name).release
    )
    if not found.videos:
        reasons = "; ".join(f"{each.file.path}: {each.reason}" for each in found.left_out[:3])
        raise Setback("nothing_in_it", f"None of its files can be placed. {reasons}", lasting=True)


async def _ready(
    work: Work, facts: Facts, infohash: str, body: bytes | None, size: int | None
) -> Download | None:
    """Only now the hash is known for sure: the same torrent may have had its turn."""
    step = replace(work.onward("ready"), infohash=infohash)
    if body is not None and size is not None:
        step = replace(step, torrent=body, size=size)
    async with work.engine.database.write() as tx:
        await shows.show(tx, facts.show.id, lock=True)
        is_wish = facts.row.rule == BY_HAND
        known = None if is_wish else await _known(tx, work.download, infohash)
        if known is not None:
            step = Step("dropped", None, detail=known, infohash=infohash)
        holder = None if known is not None else work.engine.worker
        written = await store.step(tx, work.download, step, work.now, holder=holder)
    return None if known is not None else written


async def _known(tx: Transaction, download: Download, infohash: str) -> str | None:
    for other in await queries.of_hash(tx, infohash):
        if other.id == download.id or other.show_id != download.show_id:
            continue
        if other.state in STANDING and set(other.slots) & set(download.slots):
            return f"It is the same torrent as that of download {other.id}."
        if other.state in ("retiring", "retired"):
            return f"It is the same torrent as that of download {other.id}, which was replaced."
    return None


async def _fetched(work: Work, facts: Facts, url: str) -> bytes:
    question = await _question(work, facts, url)
    match await _asked(work, question):
        case Fetched(exchange=exchange):
            coding = header(exchange.answer.response_headers, "content-encoding")
            most = work.media.policy.torrent_bytes
            found = await asyncio.to_thread(decoded, exchange.answer.body, coding, max_bytes=most)
            if found.error is not None:
                raise Setback(found.error, found.detail)
            return found.body
        case outcome:
            _not_fetched(work, outcome)


def _not_fetched(work: Work, outcome: Outcome) -> NoReturn:
    match outcome:
        case Throttled(exchange=exchange, retry_after=seconds):
            rest = seconds or work.media.policy.pause(work.download.attempts + 5)
            moment = work.engine.clock.monotonic() + rest
            work.engine.turns.rest(host_of(exchange.answer.url), moment)
            raise Setback("throttled", "The site asks for a rest.", counts=False, wait=rest)
        case Gone():
            has_magnet = work.download.magnet is not None
            raise Setback("gone", "The site says that the torrent is gone.", lasting=not has_magnet)
        case Failed(code=code, detail=detail) if code in _DOWN and _is_patient(work):
            raise Setback(code, detail, counts=False, wait=_longer_each_time(work))
        case Failed(code=code, detail=detail):
            raise Setback(code, detail, lasting=code in _NEVER and work.download.magnet is None)
        case Fetched() | Unchanged():
            raise Setback("unexpected_304", "The site answered a question that we did not ask.")


def _is_patient(work: Work) -> bool:
    """As long as with a download that does not move; but a magnet link need not wait for a site."""
    return work.download.magnet is None and _age(work) < work.media.policy.stalled


def _longer_each_time(work: Work) -> float:
    """Half as long again as all of the time before."""
    return min(work.media.policy.pause_cap, max(2.0, _age(work) / 2))


def _age(work: Work) -> float:
    return (work.now - work.download.intended_at).total_seconds()


async def _question(work: Work, facts: Facts, url: str) -> Ask:
    """A private feed's credentials go along to its own origin, and nowhere else."""
    async with work.engine.database.read() as view:
        try:
            feed = await feeds.feed(view, facts.tracking.feed_id)
        except NotFound:  # gone for good; what it said may still be had without it
            return Ask(url)
    try:
        keys = await keyring_of(work.engine, feed.pk, feed.url)
    except SecretUnreadable as trouble:
        raise Setback(trouble.code, trouble.message, counts=False) from trouble
    return Ask(url, verify_tls=feed.overrides.verify_tls, keys=keys)


async def _asked(work: Work, question: Ask) -> Outcome:
    """In the host's turn, as every visit is."""
    engine = work.engine
    policy = replace(engine.fetch, accept=ACCEPT, accepted_types=None)
    try:
        host = host_of(question.url)
        await work.visits.take_turn(host)
        try:
            return await ask(question, policy, work.media.web, engine.clock, work.visits.pass_by)
        finally:
            engine.turns.finish(host, engine.clock.monotonic(), None)
    except TooSoon as rest:
        wait = float(rest.facts["retry_after_sec"])
        raise Setback("host_rests", rest.message, counts=False, wait=wait) from rest
    except BadInput as trouble:
        raise Setback(trouble.code, trouble.message, lasting=True) from trouble
