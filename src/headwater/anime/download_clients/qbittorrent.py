"""qBittorrent, 4.1 to 5.x, through its Web API."""

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence, Set
from dataclasses import replace
from secrets import token_hex
from typing import Any
from urllib.parse import quote, urlencode

from headwater.anime.download_clients.connection import (
    ClientConnection,
    parse_progress,
    printable_body,
    printable_text,
)
from headwater.anime.downloads.ports import (
    ClientTorrent,
    ClientTorrentFile,
    ClientTorrentState,
    NewClientTorrent,
)
from headwater.core.values.response import Headers, HttpAnswer

FORM_MEDIA_TYPE = "application/x-www-form-urlencoded"
_VERSION = re.compile(rb"v?[0-9][0-9A-Za-z.+-]{0,40}")
_AT_ONCE = 100
"""Hashes in one request: they stand in its URL."""

_RETRY_SECONDS = (0.1, 0.4, 1.5)
"""Seconds between looks for a torrent that was just added: it is listed only after a moment."""

_STATES: Mapping[str, ClientTorrentState] = {
    "allocating": "waiting",
    "metaDL": "waiting",
    "forcedMetaDL": "waiting",
    "queuedDL": "waiting",
    "pausedDL": "waiting",
    "stoppedDL": "waiting",
    "stalledDL": "downloading",
    "downloading": "downloading",
    "forcedDL": "downloading",
    "checkingDL": "checking",
    "checkingUP": "checking",
    "checkingResumeData": "checking",
    "queuedForChecking": "checking",
    "moving": "checking",
    "uploading": "complete",
    "forcedUP": "complete",
    "stalledUP": "complete",
    "queuedUP": "complete",
    "pausedUP": "complete",
    "stoppedUP": "complete",
    "error": "failed",
    "missingFiles": "failed",
    "unknown": "failed",
}


class QBittorrent:
    """A `DownloadClient`. It has one session, and logs in again when the client forgets it."""

    deletes_files = True
    usual_path = ""

    def __init__(
        self,
        connection: ClientConnection,
        *,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._connection, self._cookie, self._sleep = connection, "", sleep
        self._client_hashes: dict[str, str] = {}

    async def version(self) -> str:
        answer = await self._get("/api/v2/app/version")
        if answer.status != 200 or _VERSION.fullmatch(answer.body) is None:
            raise self._connection.down(f"this is no qBittorrent: {printable_body(answer.body)!r}.")
        return f"qBittorrent {printable_body(answer.body)}"

    async def add(self, torrent: NewClientTorrent) -> None:
        if torrent.infohash in await self.list_torrents([torrent.infohash]):
            return
        config = self._connection.config
        fields = {
            "savepath": torrent.save_path,
            "category": config.category,
            "tags": config.tag,
            "autoTMM": "false",
            "contentLayout": "Original",
        }
        if torrent.torrent is None:
            fields["urls"] = torrent.magnet or ""
        body, media_type = _multipart(fields, torrent.torrent)
        answer = await self._post("/api/v2/torrents/add", body, media_type)
        if answer.status == 415:
            raise self._connection.refused("it says that this is no torrent.")
        if answer.status not in (200, 202, 204, 409):
            raise self._connection.down(f"it answered {answer.status}.")
        if answer.status == 202 or answer.body.strip() == b"Ok.":
            return  # from 5.2 on, 202 says that it will add it in a moment
        if not await self._has_soon(torrent.infohash):
            raise self._connection.refused(
                f"it did not take the torrent: {printable_body(answer.body)!r}."
            )

    async def _has_soon(self, infohash: str) -> bool:
        for pause in _RETRY_SECONDS:
            if infohash in await self.list_torrents([infohash]):
                return True
            await self._sleep(pause)
        if infohash in await self.list_torrents([infohash]):
            return True
        return bool(await self._list_hybrids({infohash}, "filter=all"))

    async def list_torrents(self, infohashes: Sequence[str]) -> Mapping[str, ClientTorrent]:
        self._connection.check_infohashes(infohashes)
        torrents: dict[str, ClientTorrent] = {}
        for start in range(0, len(infohashes), _AT_ONCE):
            batch = infohashes[start : start + _AT_ONCE]
            asked_as = {infohash: infohash for infohash in batch}
            for infohash in batch:
                if infohash in self._client_hashes:
                    asked_as[self._client_hashes[infohash]] = infohash
            for shown in await self._list(f"hashes={'%7C'.join(asked_as)}"):
                torrent = self._torrent(shown)
                if (asked := asked_as.get(torrent.infohash)) is not None:
                    torrents[asked] = replace(torrent, infohash=asked)
        if missing := {infohash for infohash in infohashes if infohash not in torrents}:
            our_category = f"category={quote(self._connection.config.category)}"
            torrents |= await self._list_hybrids(missing, our_category)
        return torrents

    async def _list_hybrids(self, infohashes: Set[str], query: str) -> dict[str, ClientTorrent]:
        """Torrents of both versions. This client names them by their second hash, and does not find
        them by their first, which feeds and other clients use. Ours are looked for in our category;
        all torrents, of which there may be thousands, are listed only for one that is there
        already."""
        torrents: dict[str, ClientTorrent] = {}
        for shown in await self._list(query):
            torrent, first = self._torrent(shown), str(shown.get("infohash_v1") or "").lower()
            if first in infohashes and torrent.infohash != first:
                self._client_hashes[first] = torrent.infohash
                torrents[first] = replace(torrent, infohash=first)
        return torrents

    async def _list(self, query: str) -> list[Any]:
        listed = self._connection.json_of(await self._get(f"/api/v2/torrents/info?{query}"))
        if not isinstance(listed, list):
            raise self._connection.down("its list of torrents is none.")
        return listed

    async def files(self, infohash: str) -> Sequence[ClientTorrentFile]:
        self._connection.check_infohashes([infohash])
        client_hash = self._client_hashes.get(infohash, infohash)
        answer = await self._get(f"/api/v2/torrents/files?hash={client_hash}")
        if answer.status == 404:
            return ()
        try:
            return [
                ClientTorrentFile(str(f["name"]), int(f["size"]))
                for f in self._connection.json_of(answer)
            ]
        except (KeyError, TypeError, ValueError, OverflowError) as trouble:
            raise self._connection.down("its list of files cannot be read.") from trouble

    async def remove(self, infohash: str, *, with_files: bool) -> bool:
        torrent = (await self.list_torrents([infohash])).get(infohash)
        if torrent is None:
            return False
        if not torrent.is_ours:
            raise self._connection.refused(f"the torrent {infohash} does not bear our tag.")
        client_hash = self._client_hashes.get(infohash, infohash)
        form = {"hashes": client_hash, "deleteFiles": str(with_files).lower()}
        answer = await self._post(
            "/api/v2/torrents/delete", urlencode(form).encode(), FORM_MEDIA_TYPE
        )
        if answer.status not in (200, 204):
            raise self._connection.down(f"it answered {answer.status}.")
        return True

    async def close(self) -> None:
        await self._connection.close()

    def _torrent(self, shown: Any) -> ClientTorrent:
        try:
            tags = [tag.strip() for tag in shown["tags"].split(",")]
            state = str(shown["state"])
            return ClientTorrent(
                infohash=shown["hash"].lower(),
                name=str(shown["name"]),
                state=_STATES.get(state, "waiting"),
                progress=parse_progress(shown["progress"]),
                size=int(shown["size"]),
                save_path=str(shown["save_path"]),
                is_ours=self._connection.config.tag in tags,
                detail=printable_text(state),
            )
        except (AttributeError, KeyError, TypeError, ValueError, OverflowError) as trouble:
            raise self._connection.down("its list of torrents cannot be read.") from trouble

    async def _get(self, path: str) -> HttpAnswer:
        answer = await self._connection.get(path, await self._session())
        if answer.status == 403:
            answer = await self._connection.get(path, await self._session(again=True))
        return answer

    async def _post(self, path: str, body: bytes, media_type: str) -> HttpAnswer:
        answer = await self._connection.post(path, body, media_type, await self._session())
        if answer.status == 403:
            answer = await self._connection.post(
                path, body, media_type, await self._session(again=True)
            )
        return answer

    async def _session(self, *, again: bool = False) -> Headers:
        """Headers of our session. The client's protection asks for its own address in `Referer`."""
        former = self._cookie
        async with self._connection.login_lock:
            if not self._cookie or (again and self._cookie == former):
                self._cookie = await self._log_in()
        return ("Referer", self._connection.origin), ("Cookie", self._cookie)

    async def _log_in(self) -> str:
        config = self._connection.config
        form = urlencode(
            {"username": config.username, "password": config.password}, quote_via=quote
        )
        headers = (("Referer", self._connection.origin),)
        answer = await self._connection.post(
            "/api/v2/auth/login", form.encode(), FORM_MEDIA_TYPE, headers
        )
        if answer.status == 403:
            raise self._connection.down(
                "it has locked us out for a while: too many wrong passwords."
            )
        cookie = next(
            (
                value.partition(";")[0]
                for name, value in answer.response_headers
                if name.lower() == "set-cookie" and "SID" in value.partition("=")[0].upper()
            ),
            "",
        )
        is_logged_in = answer.status == 204 or (
            answer.status == 200 and answer.body.strip() == b"Ok."
        )
        if not is_logged_in or not cookie:
            raise self._connection.down("it does not know this user name and password.")
        return cookie


def _multipart(fields: Mapping[str, str], torrent: bytes | None) -> tuple[bytes, str]:
    boundary = f"headwater{token_hex(16)}"
    parts = [
        f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'.encode()
        for name, value in fields.items()
    ]
    if torrent is not None:
        head = (
            f'--{boundary}\r\nContent-Disposition: form-data; name="torrents";'
            ' filename="release.torrent"\r\nContent-Type: application/x-bittorrent\r\n\r\n'
        )
        parts.append(head.encode() + torrent + b"\r\n")
    parts.append(f"--{boundary}--\r\n".encode())
    return b"".join(parts), f"multipart/form-data; boundary={boundary}"
