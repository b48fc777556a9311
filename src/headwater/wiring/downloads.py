"""Open the services of downloads: the client, the library and its folders."""

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
    """Open them; None when no download client is named. The client is not asked yet."""
    downloads, library = settings.media_downloads, settings.media_library
    if settings.media_client == "none" or downloads is None or library is None:
        return None
    downloader = open_download_client(_client_config(settings), limits, settings.user_agent)
    stack.push_async_callback(downloader.close)
    web = CurlWeb(replace(limits, body_bytes=settings.media_torrent_max_bytes), address)
    stack.push_async_callback(web.close)
    recycle = settings.media_recycle or library / ".headwater-recycle"
    folders = LibraryFolders(
        downloads=downloads.absolute(),
        library=library.absolute(),
        recycle=None if settings.media_delete else recycle.absolute(),
        way=settings.media_link,
    )
    return DownloadServices(
        downloader=downloader,
        library=DiskMediaLibrary(folders),
        web=web,
        policy=download_policy(settings, folders),
    )


def _client_config(settings: Settings) -> DownloadClientConfig:
    return DownloadClientConfig(
        kind=settings.media_client,
        url=settings.media_client_url or "",
        username=settings.media_client_username,
        password=settings.media_password,
        category=settings.media_client_category,
        tag=settings.media_client_tag,
        deadline=settings.media_client_timeout_sec,
    )


def download_policy(settings: Settings, folders: LibraryFolders) -> DownloadPolicy:
    """Build the policy of downloads. BadSettings for a template that cannot name files."""
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
