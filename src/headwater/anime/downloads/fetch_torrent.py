"""A torrent, fetched by ourselves through the gate and looked through before any client gets it."""

import asyncio
from dataclasses import replace
from typing import NoReturn

from headwater.anime.candidate import TorrentCandidate
from headwater.anime.decide.decide_by_hand import BY_HAND
from headwater.anime.downloads import download_rows
from headwater.anime.downloads.claimed_download import ClaimedDownload, DownloadContext, StepFailed
from headwater.anime.downloads.download import STATES_WITH_SLOTS, Download
from headwater.anime.downloads.download_rows import StepResult
from headwater.anime.downloads.ports import ClientTorrentFile
from headwater.anime.naming.match_files import match_torrent_files
from headwater.anime.shows import show_rows
from headwater.anime.title import read_title
from headwater.anime.torrents.magnet import parse_magnet
from headwater.anime.torrents.torrent_file import Torrent, parse_torrent
from headwater.core.errors import BadInput, NotFound, SecretUnreadable, TooSoon
from headwater.core.ports import Transaction
from headwater.core.values.response import header
from headwater.core.values.url import host_of
from headwater.feeds import feed_rows
from headwater.feeds.fetch.content_coding import decode_body
from headwater.feeds.fetch.outcome import Failed, Fetched, Gone, Outcome, Throttled, Unchanged
from headwater.feeds.fetch.request_feed import FetchRequest

_TRIES_BEFORE_THE_MAGNET = 3
"""A site that does not give its torrent has often named a magnet link too."""

_BAD_ONES = 3
"""A page in place of a torrent may be a passing mood of the site; not for long."""

_LASTING_CODES = frozenset({"blocked_address", "bad_url", "too_many_redirects", "bad_redirect"})
"""What no further try would change."""

_SITE_DOWN_CODES = frozenset(
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


async def fetch_torrent(work: ClaimedDownload) -> Download | None:
    """intended → ready. Nothing was asked of the client yet."""
    facts = await work.facts()
    candidate = facts.row.candidate
    async with work.services.database.read() as view:
        body = await download_rows.find_torrent_file(view, work.download.id)
    if body is None and _wants_magnet(candidate, work.download.attempts):
        return await _ready(work, facts, _magnet_hash(candidate), None, None)
    if body is None:
        body = await _fetched(work, facts, candidate.torrent_url or "")
    torrent = await _read(work, body)
    _check_same_torrent(candidate, torrent)
    await asyncio.to_thread(check_has_wanted_files, facts, work.download, torrent)
    return await _ready(work, facts, torrent.infohash, body, torrent.size)


def _wants_magnet(candidate: TorrentCandidate, attempts: int) -> bool:
    if candidate.torrent_url is None:
        return True
    return candidate.magnet is not None and attempts >= _TRIES_BEFORE_THE_MAGNET


def _magnet_hash(candidate: TorrentCandidate) -> str:
    magnet = parse_magnet(candidate.magnet or "")
    if magnet is None:
        raise StepFailed(
            "nothing_to_fetch", "There is neither a torrent nor a magnet link.", lasting=True
        )
    return magnet.infohash[:40]


async def _read(work: ClaimedDownload, body: bytes) -> Torrent:
    policy = work.media.policy
    try:
        return await asyncio.to_thread(
            parse_torrent, body, most_bytes=policy.torrent_bytes, most_files=policy.torrent_files
        )
    except BadInput as trouble:
        is_over = work.download.attempts + 1 >= _BAD_ONES
        has_magnet = work.download.magnet is not None
        raise StepFailed(
            trouble.code, trouble.message, lasting=is_over and not has_magnet
        ) from trouble


def _check_same_torrent(candidate: TorrentCandidate, torrent: Torrent) -> None:
    """The feed said which torrent it is; another one is not what was decided on."""
    if candidate.infohash is None or candidate.is_torrent(torrent.infohash):
        return
    if not candidate.is_torrent(torrent.infohash_v2):
        detail = f"The feed said {candidate.infohash}, and what came is {torrent.infohash}."
        raise StepFailed("other_torrent", detail, lasting=True)


def check_has_wanted_files(facts: DownloadContext, download: Download, torrent: Torrent) -> None:
    """Before it is downloaded: is anything in it that it was chosen for? Not quick for many."""
    files = [
        ClientTorrentFile("/".join(f.path), f.length) for f in torrent.files if not f.is_padding
    ]
    found = match_torrent_files(
        files, facts.show.show, download.slots, lambda name: read_title(name).release
    )
    if not found.videos:
        reasons = "; ".join(f"{each.file.path}: {each.reason}" for each in found.left_out[:3])
        raise StepFailed(
            "nothing_in_it", f"None of its files can be placed. {reasons}", lasting=True
        )


async def _ready(
    work: ClaimedDownload,
    facts: DownloadContext,
    infohash: str,
    body: bytes | None,
    size: int | None,
) -> Download | None:
    """Only now the hash is known for sure: the same torrent may have had its turn."""
    step = replace(work.onward("ready"), infohash=infohash)
    if body is not None and size is not None:
        step = replace(step, torrent=body, size=size)
    async with work.services.database.write() as tx:
        await show_rows.get_show(tx, facts.show.id, lock=True)
        is_wish = facts.row.rule == BY_HAND
        known = None if is_wish else await _why_known_already(tx, work.download, infohash)
        if known is not None:
            step = StepResult("dropped", None, detail=known, infohash=infohash)
        holder = None if known is not None else work.services.registry.feeds.worker
        written = await download_rows.update_claimed_download(
            tx, work.download, step, work.now, holder=holder
        )
    return None if known is not None else written


async def _why_known_already(tx: Transaction, download: Download, infohash: str) -> str | None:
    for other in await download_rows.list_downloads_of_torrent(tx, infohash):
        if other.id == download.id or other.show_id != download.show_id:
            continue
        if other.state in STATES_WITH_SLOTS and set(other.slots) & set(download.slots):
            return f"It is the same torrent as that of download {other.id}."
        if other.state in ("retiring", "retired"):
            return f"It is the same torrent as that of download {other.id}, which was replaced."
    return None


async def _fetched(work: ClaimedDownload, facts: DownloadContext, url: str) -> bytes:
    question = await _question(work, facts, url)
    match await _fetch_in_turn(work, question):
        case Fetched(exchange=exchange):
            coding = header(exchange.answer.response_headers, "content-encoding")
            most = work.media.policy.torrent_bytes
            found = await asyncio.to_thread(
                decode_body, exchange.answer.body, coding, max_bytes=most
            )
            if found.error is not None:
                raise StepFailed(found.error, found.detail)
            return found.body
        case outcome:
            _not_fetched(work, outcome)


def _not_fetched(work: ClaimedDownload, outcome: Outcome) -> NoReturn:
    match outcome:
        case Throttled(exchange=exchange, retry_after=seconds):
            rest = seconds or work.media.policy.pause(work.download.attempts + 5)
            moment = work.services.clock.monotonic() + rest
            work.services.registry.feeds.fetcher.turns.rest(host_of(exchange.answer.url), moment)
            raise StepFailed("throttled", "The site asks for a rest.", counts=False, wait=rest)
        case Gone():
            has_magnet = work.download.magnet is not None
            raise StepFailed(
                "gone", "The site says that the torrent is gone.", lasting=not has_magnet
            )
        case Failed(code=code, detail=detail) if code in _SITE_DOWN_CODES and _is_patient(work):
            raise StepFailed(code, detail, counts=False, wait=_longer_each_time(work))
        case Failed(code=code, detail=detail):
            raise StepFailed(
                code, detail, lasting=code in _LASTING_CODES and work.download.magnet is None
            )
        case Fetched() | Unchanged():
            raise StepFailed("unexpected_304", "The site answered a question that we did not ask.")


def _is_patient(work: ClaimedDownload) -> bool:
    """As long as with a download that does not move; but a magnet link need not wait for a site."""
    return work.download.magnet is None and _age(work) < work.media.policy.stalled


def _longer_each_time(work: ClaimedDownload) -> float:
    """Half as long again as all of the time before."""
    return min(work.media.policy.pause_cap, max(2.0, _age(work) / 2))


def _age(work: ClaimedDownload) -> float:
    return (work.now - work.download.intended_at).total_seconds()


async def _question(work: ClaimedDownload, facts: DownloadContext, url: str) -> FetchRequest:
    """A private feed's credentials go along to its own origin, and nowhere else."""
    async with work.services.database.read() as view:
        try:
            feed = await feed_rows.get_feed(view, facts.tracking.feed_id)
        except NotFound:  # gone for good; what it said may still be had without it
            return FetchRequest(url)
    try:
        keys = await work.services.registry.feeds.keyrings.open(feed.pk, feed.url)
    except SecretUnreadable as trouble:
        raise StepFailed(trouble.code, trouble.message, counts=False) from trouble
    return FetchRequest(url, verify_tls=feed.overrides.verify_tls, keys=keys)


async def _fetch_in_turn(work: ClaimedDownload, question: FetchRequest) -> Outcome:
    """In the host's turn, as every visit is."""
    try:
        return await work.fetcher.fetch_in_turn(question)
    except TooSoon as rest:
        wait = float(rest.facts["retry_after_sec"])
        raise StepFailed("host_rests", rest.message, counts=False, wait=wait) from rest
    except BadInput as trouble:
        raise StepFailed(trouble.code, trouble.message, lasting=True) from trouble
