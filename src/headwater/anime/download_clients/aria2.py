"""aria2, 1.18 and later, through JSON-RPC. It has no tags: our torrents are known by hash."""

import asyncio
from base64 import b64encode
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

import orjson

from headwater.anime.download_clients.connection import (
    ClientConnection,
    parse_progress,
    printable_body,
    printable_text,
)
from headwater.anime.downloads.ports import (
    ClientRefused,
    ClientTorrent,
    ClientTorrentFile,
    ClientTorrentState,
    NewClientTorrent,
)

_PAGE = 1_000
_MOST = 20_000
_STOPPING_LOOKS, _STOPPING_SECONDS = 30, 0.1
_STATES: Mapping[str, ClientTorrentState] = {
    "waiting": "waiting",
    "paused": "waiting",
    "active": "downloading",
    "complete": "complete",
    "error": "failed",
}
_KEYS = (
    "gid infoHash status totalLength completedLength dir files bittorrent errorMessage seeder"
    " verifiedLength verifyIntegrityPending followedBy"
).split()


class Aria2:
    """A `DownloadClient`. aria2 names a download by a number of its own, which is found by hash."""

    deletes_files = False
    usual_path = "/jsonrpc"

    def __init__(self, connection: ClientConnection) -> None:
        self._connection = connection

    async def version(self) -> str:
        answer = await self._request("getVersion")
        return f"aria2 {answer.get('version', '?') if isinstance(answer, dict) else '?'}"

    async def add(self, torrent: NewClientTorrent) -> None:
        if torrent.infohash in await self.list_torrents([torrent.infohash]):
            return
        options = {"dir": torrent.save_path, "check-integrity": "true"}
        if torrent.torrent is not None:
            await self._request("addTorrent", b64encode(torrent.torrent).decode(), [], options)
        else:
            await self._request("addUri", [torrent.magnet], options)

    async def list_torrents(self, infohashes: Sequence[str]) -> Mapping[str, ClientTorrent]:
        downloads = await self._find_downloads(infohashes)
        return {infohash: self._torrent(shown) for infohash, shown in downloads.items()}

    async def files(self, infohash: str) -> Sequence[ClientTorrentFile]:
        shown = (await self._find_downloads([infohash])).get(infohash)
        if shown is None:
            return ()
        try:
            folder = str(shown["dir"]).rstrip("/") + "/"
            return [
                ClientTorrentFile(str(file["path"]).removeprefix(folder), int(file["length"]))
                for file in shown["files"]
                if not str(file["path"]).startswith("[METADATA]")
            ]
        except (KeyError, TypeError, ValueError, OverflowError) as trouble:
            raise self._connection.down("its list of files cannot be read.") from trouble

    async def remove(self, infohash: str, *, with_files: bool) -> bool:
        """aria2 never deletes files: the caller must delete them."""
        shown = (await self._find_downloads([infohash])).get(infohash)
        if shown is None:
            return False
        gid = str(shown.get("gid", ""))
        if shown.get("status") in ("active", "waiting", "paused"):
            await self._request("forceRemove", gid)
        await self._forget(gid)
        return True

    async def _forget(self, gid: str) -> None:
        """A seeded download stays in the list as complete; it is removed as soon as it has
        stopped."""
        for _ in range(_STOPPING_LOOKS):
            try:
                await self._request("removeDownloadResult", gid)
            except ClientRefused:
                await asyncio.sleep(_STOPPING_SECONDS)
            else:
                return
        await self._request("removeDownloadResult", gid)

    async def close(self) -> None:
        await self._connection.close()

    async def _find_downloads(self, infohashes: Sequence[str]) -> dict[str, dict[str, Any]]:
        """The live download of each hash: removed ones stay in the list for a while, and a magnet
        link leaves its own download behind, complete."""
        self._connection.check_infohashes(infohashes)
        hashes, downloads = set(infohashes), dict[str, dict[str, Any]]()
        async for shown in self._all_downloads():
            infohash = str(shown.get("infoHash", "")).lower()
            is_over = shown.get("status") == "removed" or shown.get("followedBy")
            if infohash in hashes and not is_over and infohash not in downloads:
                downloads[infohash] = shown
        return downloads

    async def _all_downloads(self) -> AsyncIterator[dict[str, Any]]:
        """One page at a time: the list may have no end, and is never held as a whole."""
        for shown in self._checked_page(await self._request("tellActive", _KEYS)):
            yield shown
        for method in ("tellWaiting", "tellStopped"):
            for start in range(0, _MOST, _PAGE):
                page = self._checked_page(await self._request(method, start, _PAGE, _KEYS))
                for shown in page:
                    yield shown
                if len(page) < _PAGE:
                    break

    def _checked_page(self, page: Any) -> list[dict[str, Any]]:
        if not isinstance(page, list) or not all(isinstance(each, dict) for each in page):
            raise self._connection.down("its list of downloads cannot be read.")
        return page

    def _torrent(self, shown: dict[str, Any]) -> ClientTorrent:
        try:
            total, done = int(shown["totalLength"]), int(shown["completedLength"])
            state = _STATES.get(shown["status"], "failed")
            if "verifiedLength" in shown or shown.get("verifyIntegrityPending") == "true":
                state = "checking"
            elif state == "downloading" and shown.get("seeder") == "true" and total == done > 0:
                state = "complete"
            return ClientTorrent(
                infohash=str(shown["infoHash"]).lower(),
                name=_name_of(shown),
                state=state,
                progress=parse_progress(done / total) if total else 0.0,
                size=total,
                save_path=str(shown["dir"]),
                is_ours=True,
                detail=printable_text(shown.get("errorMessage", shown["status"])),
            )
        except (KeyError, TypeError, ValueError, OverflowError) as trouble:
            raise self._connection.down("its list of downloads cannot be read.") from trouble

    async def _request(self, method: str, *parameters: Any) -> Any:
        secret = (
            [f"token:{self._connection.config.password}"]
            if self._connection.config.password
            else []
        )
        body = {
            "jsonrpc": "2.0",
            "id": "headwater",
            "method": f"aria2.{method}",
            "params": [*secret, *parameters],
        }
        answer = await self._connection.post("", orjson.dumps(body), "application/json")
        try:
            reply = orjson.loads(answer.body)
        except ValueError as trouble:
            raise self._connection.down(
                f"this is no aria2: {printable_body(answer.body)!r}."
            ) from trouble
        if not isinstance(reply, dict) or ("result" not in reply and "error" not in reply):
            raise self._connection.down(f"this is no aria2: {printable_body(answer.body)!r}.")
        if "error" in reply:
            error = reply["error"]
            message = error.get("message") if isinstance(error, dict) else None
            if message == "Unauthorized":
                raise self._connection.down("it does not know this secret.")
            raise self._connection.refused(f"it says {str(message)[:200]!r}.")
        return reply["result"]


def _name_of(shown: dict[str, Any]) -> str:
    torrent = shown.get("bittorrent")
    info = torrent.get("info") if isinstance(torrent, dict) else None
    return str(info.get("name", "")) if isinstance(info, dict) else ""
