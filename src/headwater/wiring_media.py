"""Settings → the download client and the folders; wiring's second room."""

from contextlib import AsyncExitStack
from dataclasses import replace

from headwater.adapters.downloaders.kinds import open_downloader
from headwater.adapters.downloaders.link import ClientPlan
from headwater.adapters.library import DiskLibrary, Folders
from headwater.adapters.web import CurlWeb
from headwater.adapters.web_limits import WebLimits
from headwater.collect.naming.place import EPISODE_TEMPLATE, FILM_TEMPLATE, checked_naming
from headwater.errors import BadInput, BadSettings
from headwater.fetch.address import AddressPolicy
from headwater.media import Media, MediaPolicy
from headwater.settings import Settings


def open_media(
    settings: Settings, stack: AsyncExitStack, limits: WebLimits, address: AddressPolicy
) -> Media | None:
    """None where no download client is named. Nothing is asked of it yet."""
    downloads, library = settings.media_downloads, settings.media_library
    if settings.media_client == "none" or downloads is None or library is None:
        return None
    downloader = open_downloader(_client_plan(settings), limits, settings.user_agent)
    stack.push_async_callback(downloader.close)
    small = replace(limits, body_bytes=settings.media_torrent_max_bytes)
    web = CurlWeb(small, address)
    stack.push_async_callback(web.close)
    recycle = settings.media_recycle or library / ".headwater-recycle"
    folders = Folders(
        downloads.absolute(),
        library.absolute(),
        None if settings.media_delete else recycle.absolute(),
        settings.media_link,
    )
    return Media(downloader, DiskLibrary(folders), web, media_policy(settings, folders))


def _client_plan(settings: Settings) -> ClientPlan:
    return ClientPlan(
        settings.media_client,
        settings.media_client_url or "",
        settings.media_client_username,
        settings.media_password,
        settings.media_client_category,
        settings.media_client_tag,
        settings.media_client_timeout_sec,
    )


def media_policy(settings: Settings, folders: Folders) -> MediaPolicy:
    """BadSettings for a template that cannot name files."""
    try:
        naming = checked_naming(
            episode=settings.media_episode_template or EPISODE_TEMPLATE,
            film=settings.media_film_template or FILM_TEMPLATE,
        )
    except BadInput as trouble:
        is_film = trouble.facts.get("template") == settings.media_film_template
        name = "media_film_template" if is_film else "media_episode_template"
        raise BadSettings(f"{name}: {trouble.message}", **trouble.facts) from trouble
    return MediaPolicy(
        client_downloads=settings.media_client_downloads or str(folders.downloads),
        naming=naming,
        pieces=settings.media_verify == "pieces",
        keep_seeding=settings.media_keep_seeding,
        nfo=settings.media_nfo,
        recycle_days=settings.media_recycle_days,
        torrent_bytes=settings.media_torrent_max_bytes,
        torrent_files=settings.media_torrent_max_files,
        free_bytes=settings.media_free_bytes,
        look=settings.media_look_sec,
        pause_cap=settings.media_pause_cap_sec,
        attempts=settings.media_attempts,
        stalled=settings.media_stalled_hours * 3_600,
        at_once=settings.media_at_once,
        lease=settings.lease_seconds,
    )
