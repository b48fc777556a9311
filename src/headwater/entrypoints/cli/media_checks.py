"""What `doctor` looks at where releases are downloaded: the client, the folders, their room."""

import asyncio
from collections.abc import Iterator

from headwater.entrypoints.cli.checks import MIB, Check
from headwater.entrypoints.late import late
from headwater.errors import HeadwaterError
from headwater.settings import Settings

_COPIED = "two file systems"


def media_checks(settings: Settings) -> Iterator[Check]:
    if settings.media_client == "none":
        return
    try:
        seen = asyncio.run(late("headwater.entrypoints.media:look_at_media")(settings))
    except HeadwaterError as trouble:
        yield Check("downloads", "error", trouble.message, "Correct the media_ settings.")
        return
    if seen.trouble is not None:
        todo = "Is it running; are media_client_url, username and password right?"
        yield Check("download client", "error", seen.trouble, todo)
    else:
        yield Check("download client", "ok", seen.client)
    yield from _folders(settings, seen.folders)
    if seen.free_bytes is not None:
        yield _room(settings, seen.free_bytes)


def _folders(settings: Settings, troubles: tuple[str, ...]) -> Iterator[Check]:
    for said in troubles:
        if _COPIED in said:
            todo = "Put both on one file system, and no file takes room twice."
            yield Check("media folders", "warning", said, todo)
        else:
            yield Check("media folders", "error", said, "Make it, and let us write there.")
    if not troubles:
        where = f"{settings.media_downloads} → {settings.media_library}, by {settings.media_link}"
        yield Check("media folders", "ok", where)


def _room(settings: Settings, free: int) -> Check:
    said = f"{free // MIB:,} MiB free for downloads"
    if free < settings.media_free_bytes:
        return Check("media room", "error", said, "Make room: nothing is begun until there is.")
    return Check("media room", "ok", said)
