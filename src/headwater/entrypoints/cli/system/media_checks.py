"""What `doctor` looks at where releases are downloaded: the client, the folders, their room."""

import asyncio
from collections.abc import Iterator

from headwater.core.errors import HeadwaterError
from headwater.entrypoints.cli.system.machine_checks import MIB, Check
from headwater.entrypoints.lazy_import import lazy_import
from headwater.settings import Settings

_COPIED = "two file systems"


def media_checks(settings: Settings) -> Iterator[Check]:
    if settings.media_client == "none":
        return
    try:
        seen = asyncio.run(
            lazy_import("headwater.entrypoints.server.media_check:inspect_media")(settings)
        )
    except HeadwaterError as trouble:
        yield Check("downloads", "error", trouble.message, "Correct the media_ settings.")
        return
    if seen.trouble is not None:
        todo = "Is it running; are media_client_url, username and password right?"
        yield Check("download client", "error", seen.trouble, todo)
    else:
        yield Check("download client", "ok", seen.client)
    yield from _media_folder_checks(settings, seen.folders)
    if seen.free_bytes is not None:
        yield _media_room_check(settings, seen.free_bytes)


def _media_folder_checks(settings: Settings, troubles: tuple[str, ...]) -> Iterator[Check]:
    for said in troubles:
        if _COPIED in said:
            todo = "Put both on one file system, and no file takes room twice."
            yield Check("media folders", "warning", said, todo)
        else:
            yield Check("media folders", "error", said, "Make it, and let us write there.")
    if not troubles:
        where = f"{settings.media_downloads} → {settings.media_library}, by {settings.media_link}"
        yield Check("media folders", "ok", where)


def _media_room_check(settings: Settings, free: int) -> Check:
    said = f"{free // MIB:,} MiB free for downloads"
    if free < settings.media_free_bytes:
        return Check("media room", "error", said, "Make room: nothing is begun until there is.")
    return Check("media room", "ok", said)
