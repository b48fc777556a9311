"""Fetch a torrent ourselves, through the address gate, and check it before any client gets it."""

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
"""Tries of a torrent's address after which a magnet link is taken, if the site names one too."""

_MOST_BAD_FILES = 3
"""A page in place of a torrent may be passing trouble of the site, but not for long."""

_LASTING_CODES = frozenset({"blocked_address", "bad_url", "too_many_redirects", "bad_redirect"})
"""Errors that no further try would change."""

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
"""Errors of a site, or of our own network, that is down: they say nothing about the torrent."""


async def fetch_torrent(work: ClaimedDownload) -> Download | None:
    """intended → ready. The client is not asked yet."""
    context = await work.context()
    candidate = context.decision.candidate
    async with work.services.database.read() as view:
        body = await download_rows.find_torrent_file(view, work.download.id)
    if body is None and _wants_magnet(candidate, work.download.attempts):
        return await _ready(work, context, _magnet_hash(candidate), None, None)
    if body is None:
        body = await _fetch_body(work, context, candidate.torrent_url or "")
    torrent = await _parse(work, body)
    _check_same_torrent(candidate, torrent)
    await asyncio.to_thread(check_has_wanted_files, context, work.download, torrent)
    return await _ready(work, context, torrent.infohash, body, torrent.size)


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


async def _parse(work: ClaimedDownload, body: bytes) -> Torrent:
    policy = work.media.policy
    try:
        return await asyncio.to_thread(
            parse_torrent, body, most_bytes=policy.torrent_bytes, most_files=policy.torrent_files
        )
    except BadInput as trouble:
        is_over = work.download.attempts + 1 >= _MOST_BAD_FILES
        has_magnet = work.download.magnet is not None
        raise StepFailed(
            trouble.code, trouble.message, lasting=is_over and not has_magnet
        ) from trouble


def _check_same_torrent(candidate: TorrentCandidate, torrent: Torrent) -> None:
    """The feed states the hash of the torrent that was decided on: another torrent is refused."""
    if candidate.infohash is None or candidate.is_torrent(torrent.infohash):
        return
    if not candidate.is_torrent(torrent.infohash_v2):
        detail = f"The feed said {candidate.infohash}, and what came is {torrent.infohash}."
        raise StepFailed("other_torrent", detail, lasting=True)


def check_has_wanted_files(context: DownloadContext, download: Download, torrent: Torrent) -> None:
    """Check before the download that the torrent has files for its slots. Slow for many files."""
    files = [
        ClientTorrentFile("/".join(f.path), f.length) for f in torrent.files if not f.is_padding
    ]
    contents = match_torrent_files(
        files, context.show.show, download.slots, lambda name: read_title(name).release
    )
    if not contents.videos:
        reasons = "; ".join(f"{each.file.path}: {each.reason}" for each in contents.left_out[:3])
        raise StepFailed(
            "nothing_in_it", f"None of its files can be placed. {reasons}", lasting=True
        )


async def _ready(
    work: ClaimedDownload,
    context: DownloadContext,
    infohash: str,
    body: bytes | None,
    size: int | None,
) -> Download | None:
    """Only now is the hash known for certain: the same torrent may have had its turn."""
    step = replace(work.step_to("ready"), infohash=infohash)
    if body is not None and size is not None:
        step = replace(step, torrent=body, size=size)
    async with work.services.database.write() as tx:
        await show_rows.get_show(tx, context.show.id, lock=True)
        is_by_hand = context.decision.rule == BY_HAND
        duplicate = None if is_by_hand else await _why_known_already(tx, work.download, infohash)
        if duplicate is not None:
            step = StepResult("dropped", None, detail=duplicate, infohash=infohash)
        holder = None if duplicate is not None else work.services.registry.feeds.worker
        written = await download_rows.update_claimed_download(
            tx, work.download, step, work.now, holder=holder
        )
    return None if duplicate is not None else written


async def _why_known_already(tx: Transaction, download: Download, infohash: str) -> str | None:
    for other in await download_rows.list_downloads_of_torrent(tx, infohash):
        if other.id == download.id or other.show_id != download.show_id:
            continue
        if other.state in STATES_WITH_SLOTS and set(other.slots) & set(download.slots):
            return f"It is the same torrent as that of download {other.id}."
        if other.state in ("retiring", "retired"):
            return f"It is the same torrent as that of download {other.id}, which was replaced."
    return None


async def _fetch_body(work: ClaimedDownload, context: DownloadContext, url: str) -> bytes:
    request = await _request_of_torrent(work, context, url)
    match await _fetch_in_turn(work, request):
        case Fetched(exchange=exchange):
            coding = header(exchange.answer.response_headers, "content-encoding")
            most = work.media.policy.torrent_bytes
            decoded = await asyncio.to_thread(
                decode_body, exchange.answer.body, coding, max_bytes=most
            )
            if decoded.error is not None:
                raise StepFailed(decoded.error, decoded.detail)
            return decoded.body
        case outcome:
            _fail_fetch(work, outcome)


def _fail_fetch(work: ClaimedDownload, outcome: Outcome) -> NoReturn:
    match outcome:
        case Throttled(exchange=exchange, retry_after=seconds):
            pause = seconds or work.media.policy.pause(work.download.attempts + 5)
            moment = work.services.clock.monotonic() + pause
            work.services.registry.feeds.fetcher.turns.rest(host_of(exchange.answer.url), moment)
            raise StepFailed("throttled", "The site asks for a rest.", counts=False, wait=pause)
        case Gone():
            has_magnet = work.download.magnet is not None
            raise StepFailed(
                "gone", "The site says that the torrent is gone.", lasting=not has_magnet
            )
        case Failed(code=code, detail=detail) if code in _SITE_DOWN_CODES and _may_wait(work):
            raise StepFailed(code, detail, counts=False, wait=_growing_pause(work))
        case Failed(code=code, detail=detail):
            raise StepFailed(
                code, detail, lasting=code in _LASTING_CODES and work.download.magnet is None
            )
        case Fetched() | Unchanged():
            raise StepFailed("unexpected_304", "The site answered a question that we did not ask.")


def _may_wait(work: ClaimedDownload) -> bool:
    """Wait for a site as long as for a stalled download; but with a magnet link, do not wait."""
    return work.download.magnet is None and _age(work) < work.media.policy.stalled


def _growing_pause(work: ClaimedDownload) -> float:
    """Half of the time that has passed since the download was intended."""
    return min(work.media.policy.pause_cap, max(2.0, _age(work) / 2))


def _age(work: ClaimedDownload) -> float:
    return (work.now - work.download.intended_at).total_seconds()


async def _request_of_torrent(
    work: ClaimedDownload, context: DownloadContext, url: str
) -> FetchRequest:
    """Credentials of a private feed are sent to the feed's own origin, and nowhere else."""
    async with work.services.database.read() as view:
        try:
            feed = await feed_rows.get_feed(view, context.tracking.feed_id)
        except NotFound:  # the feed is deleted; its torrent can still be fetched
            return FetchRequest(url)
    try:
        keyring = await work.services.registry.feeds.keyrings.open(feed.pk, feed.url)
    except SecretUnreadable as trouble:
        raise StepFailed(trouble.code, trouble.message, counts=False) from trouble
    return FetchRequest(url, verify_tls=feed.overrides.verify_tls, keys=keyring)


async def _fetch_in_turn(work: ClaimedDownload, request: FetchRequest) -> Outcome:
    """Fetch when it is the host's turn, as every visit does."""
    try:
        return await work.fetcher.fetch_in_turn(request)
    except TooSoon as rest:
        wait = float(rest.facts["retry_after_sec"])
        raise StepFailed("host_rests", rest.message, counts=False, wait=wait) from rest
    except BadInput as trouble:
        raise StepFailed(trouble.code, trouble.message, lasting=True) from trouble
