"""Settings → what downloads need: the client, the library and the folders."""

from contextlib import AsyncExitStack
from dataclasses import replace

from headwater.anime.download_clients.connection import DownloadClientConfig
from headwater.anime.download_clients.open_client import open_download_client
from headwater.anime.downloads.disk_library import DiskMediaLibrary, LibraryFolders
from headwater.anime.downloads.download_services import DownloadPolicy, DownloadServices
from headwater.anime.naming.library_path import EPISODE_TEMPLATE, FILM_TEMPLATE, build_naming
from headwater.core.errors import BadInput, BadSettings
from headwater.settings import Settings
from headwater.web.address_gate import AddressPolicy
from headwater.web.http_client import CurlWeb
from headwater.web.limits import WebLimits


def open_download_services(
    settings: Settings, stack: AsyncExitStack, limits: WebLimits, address: AddressPolicy
) -> DownloadServices | None:
    """None where no download client is named. Nothing is asked of it yet."""
    downloads, library = settings.media_downloads, settings.media_library
    if settings.media_client == "none" or downloads is None or library is None:
        return None
    downloader = open_download_client(_client_plan(settings), limits, settings.user_agent)
    stack.push_async_callback(downloader.close)
    small = replace(limits, body_bytes=settings.media_torrent_max_bytes)
    web = CurlWeb(small, address)
    stack.push_async_callback(web.close)
    recycle = settings.media_recycle or library / ".headwater-recycle"
    folders = LibraryFolders(
        downloads.absolute(),
        library.absolute(),
        None if settings.media_delete else recycle.absolute(),
        settings.media_link,
    )
    return DownloadServices(
        downloader, DiskMediaLibrary(folders), web, download_policy(settings, folders)
    )


def _client_plan(settings: Settings) -> DownloadClientConfig:
    return DownloadClientConfig(
        settings.media_client,
        settings.media_client_url or "",
        settings.media_client_username,
        settings.media_password,
        settings.media_client_category,
        settings.media_client_tag,
        settings.media_client_timeout_sec,
    )


def download_policy(settings: Settings, folders: LibraryFolders) -> DownloadPolicy:
    """BadSettings for a template that cannot name files."""
    try:
        naming = build_naming(
            episode=settings.media_episode_template or EPISODE_TEMPLATE,
            film=settings.media_film_template or FILM_TEMPLATE,
        )
    except BadInput as trouble:
        is_film = trouble.facts.get("template") == settings.media_film_template
        name = "media_film_template" if is_film else "media_episode_template"
        raise BadSettings(f"{name}: {trouble.message}", **trouble.facts) from trouble
    return DownloadPolicy(
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
