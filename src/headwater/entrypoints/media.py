"""The part of a service that takes downloads further, and what the doctor asks of it."""

from contextlib import AsyncExitStack
from dataclasses import dataclass

from headwater.downloading import Downloads
from headwater.engine import Engine
from headwater.entrypoints.delivering import Deliverer
from headwater.media import Media
from headwater.media_ports import ClientDown, LibraryTrouble
from headwater.settings import Settings
from headwater.wiring import media_of

_LOOK_SECONDS = 1.0
"""How long an intent may go unnoticed. The client is asked less often."""


def downloading(engine: Engine, media: Media, settings: Settings) -> Deliverer:
    return Deliverer(
        Downloads(engine, media),
        engine.clock,
        every=min(_LOOK_SECONDS, media.policy.look),
        patience=settings.stop_seconds * 0.6,
        name="downloads",
    )


@dataclass(frozen=True, slots=True)
class MediaSeen:
    """The client's own name and version, or why it could not be asked; what is wrong with the
    folders; how many bytes are free in the downloads."""

    client: str | None
    trouble: str | None
    folders: tuple[str, ...]
    free_bytes: int | None


async def look_at_media(settings: Settings) -> MediaSeen | None:
    """For the doctor. None where nothing is downloaded."""
    async with AsyncExitStack() as stack:
        media = media_of(settings, stack)
        if media is None:
            return None
        client, trouble = None, None
        try:
            client = await media.downloader.version()
        except ClientDown as away:
            trouble = away.message
        folders = tuple(await media.library.troubles())
        try:
            free = await media.library.free_bytes()
        except LibraryTrouble:  # the folder's own line has said so
            free = None
        return MediaSeen(client, trouble, folders, free)
