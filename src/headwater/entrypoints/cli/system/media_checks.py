"""Media checks of the doctor: the download client, the folders and their free room."""

import asyncio
from collections.abc import Iterator

from headwater.core.errors import HeadwaterError
from headwater.entrypoints.cli.system.check import Check
from headwater.entrypoints.cli.system.machine_checks import MIB
from headwater.entrypoints.server.media_check import inspect_media
from headwater.settings import Settings

_COPIED = "two file systems"


def media_checks(settings: Settings) -> Iterator[Check]:
    try:
        media = asyncio.run(inspect_media(settings))
    except HeadwaterError as trouble:
        yield Check("downloads", "error", trouble.message, "Correct the media_ settings.")
        return
    if media is None:
        return
    if media.trouble is not None:
        todo = "Is it running; are media_client_url, username and password right?"
        yield Check("download client", "error", media.trouble, todo)
    elif media.client is not None:
        yield Check("download client", "ok", media.client)
    yield from _media_folder_checks(settings, media.folders)
    if media.free_bytes is not None:
        yield _media_room_check(settings, media.free_bytes)


def _media_folder_checks(settings: Settings, troubles: tuple[str, ...]) -> Iterator[Check]:
    for trouble in troubles:
        if _COPIED in trouble:
            todo = "Put both on one file system, and no file takes room twice."
            yield Check("media folders", "warning", trouble, todo)
        else:
            yield Check("media folders", "error", trouble, "Make it, and let us write there.")
    if not troubles:
        where = f"{settings.media_downloads} → {settings.media_library}, by {settings.media_link}"
        yield Check("media folders", "ok", where)


def _media_room_check(settings: Settings, free: int) -> Check:
    saw = f"{free // MIB:,} MiB free for downloads"
    if free < settings.media_free_bytes:
        return Check("media room", "error", saw, "Make room: nothing is begun until there is.")
    return Check("media room", "ok", saw)
