"""Check the download client and the library, for the doctor."""

from contextlib import AsyncExitStack
from dataclasses import dataclass

from headwater.anime.downloads.ports import ClientDown, LibraryTrouble
from headwater.settings import Settings
from headwater.wiring.app import download_services_of


@dataclass(frozen=True, slots=True)
class MediaInfo:
    """The name and version of the client, or why it could not be asked; the troubles of the
    folders; the free bytes of the downloads."""

    client: str | None
    trouble: str | None
    folders: tuple[str, ...]
    free_bytes: int | None


async def inspect_media(settings: Settings) -> MediaInfo | None:
    """Inspect client and library for the doctor. None when nothing is downloaded."""
    async with AsyncExitStack() as stack:
        media = download_services_of(settings, stack)
        if media is None:
            return None
        client, trouble = None, None
        try:
            client = await media.downloader.version()
        except ClientDown as down:
            trouble = down.message
        folders = tuple(await media.library.troubles())
        try:
            free = await media.library.free_bytes()
        except LibraryTrouble:  # the troubles of the folders name it
            free = None
        return MediaInfo(client, trouble, folders, free)
