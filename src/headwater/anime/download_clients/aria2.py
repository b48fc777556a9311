"""aria2, 1.18 and later, through JSON-RPC. It has no tags: what is ours is known by its hash."""

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
    """A `DownloadClient`. A download is named by a number of the client's own, found by hash."""

    deletes_files = False
    usual_path = "/jsonrpc"

    def __init__(self, link: ClientConnection) -> None:
        self._link = link

    async def version(self) -> str:
        said = await self._ask("getVersion")
        return f"aria2 {said.get('version', '?') if isinstance(said, dict) else '?'}"

    async def add(self, job: NewClientTorrent) -> None:
        if job.infohash in await self.list_torrents([job.infohash]):
            return
        options = {"dir": job.save_path, "check-integrity": "true"}
        if job.torrent is not None:
            await self._ask("addTorrent", b64encode(job.torrent).decode(), [], options)
        else:
            await self._ask("addUri", [job.magnet], options)

    async def list_torrents(self, infohashes: Sequence[str]) -> Mapping[str, ClientTorrent]:
        return {hash: self._job(said) for hash, said in (await self._known(infohashes)).items()}

    async def files(self, infohash: str) -> Sequence[ClientTorrentFile]:
        said = (await self._known([infohash])).get(infohash)
        if said is None:
            return ()
        try:
            above = str(said["dir"]).rstrip("/") + "/"
            return [
                ClientTorrentFile(str(file["path"]).removeprefix(above), int(file["length"]))
                for file in said["files"]
                if not str(file["path"]).startswith("[METADATA]")
            ]
        except (KeyError, TypeError, ValueError, OverflowError) as trouble:
            raise self._link.down("its list of files cannot be read.") from trouble

    async def remove(self, infohash: str, *, with_files: bool) -> bool:
        """aria2 never deletes files; what is left is for the caller to clear away."""
        said = (await self._known([infohash])).get(infohash)
        if said is None:
            return False
        gid = str(said.get("gid", ""))
        if said.get("status") in ("active", "waiting", "paused"):
            await self._ask("forceRemove", gid)
        await self._forget(gid)
        return True

    async def _forget(self, gid: str) -> None:
        """What was seeded stays in the list as complete; it is let go as soon as it has stopped."""
        for _ in range(_STOPPING_LOOKS):
            try:
                await self._ask("removeDownloadResult", gid)
            except ClientRefused:
                await asyncio.sleep(_STOPPING_SECONDS)
            else:
                return
        await self._ask("removeDownloadResult", gid)

    async def close(self) -> None:
        await self._link.close()

    async def _known(self, infohashes: Sequence[str]) -> dict[str, dict[str, Any]]:
        """The living one of each hash: removed ones stay in the list for a while, and a magnet link
        leaves its own download behind, complete."""
        wanted, found = set(self._link.named(infohashes)), dict[str, dict[str, Any]]()
        async for said in self._all():
            name = str(said.get("infoHash", "")).lower()
            is_over = said.get("status") == "removed" or said.get("followedBy")
            if name in wanted and not is_over and name not in found:
                found[name] = said
        return found

    async def _all(self) -> AsyncIterator[dict[str, Any]]:
        """A page at a time: nobody keeps all of a list that has no end."""
        for said in self._list(await self._ask("tellActive", _KEYS)):
            yield said
        for method in ("tellWaiting", "tellStopped"):
            for at in range(0, _MOST, _PAGE):
                page = self._list(await self._ask(method, at, _PAGE, _KEYS))
                for said in page:
                    yield said
                if len(page) < _PAGE:
                    break

    def _list(self, said: Any) -> list[dict[str, Any]]:
        if not isinstance(said, list) or not all(isinstance(each, dict) for each in said):
            raise self._link.down("its list of downloads cannot be read.")
        return said

    def _job(self, said: dict[str, Any]) -> ClientTorrent:
        try:
            total, done = int(said["totalLength"]), int(said["completedLength"])
            state = _STATES.get(said["status"], "failed")
            if "verifiedLength" in said or said.get("verifyIntegrityPending") == "true":
                state = "checking"
            elif state == "downloading" and said.get("seeder") == "true" and total == done > 0:
                state = "complete"
            return ClientTorrent(
                infohash=str(said["infoHash"]).lower(),
                name=_name_of(said),
                state=state,
                progress=parse_progress(done / total) if total else 0.0,
                size=total,
                save_path=str(said["dir"]),
                is_ours=True,
                detail=printable_text(said.get("errorMessage", said["status"])),
            )
        except (KeyError, TypeError, ValueError, OverflowError) as trouble:
            raise self._link.down("its list of downloads cannot be read.") from trouble

    async def _ask(self, method: str, *wish: Any) -> Any:
        secret = [f"token:{self._link.plan.password}"] if self._link.plan.password else []
        body = {
            "jsonrpc": "2.0",
            "id": "headwater",
            "method": f"aria2.{method}",
            "params": [*secret, *wish],
        }
        answer = await self._link.post("", orjson.dumps(body), "application/json")
        try:
            said = orjson.loads(answer.body)
        except ValueError as trouble:
            raise self._link.down(
                f"this is no aria2: {printable_body(answer.body)!r}."
            ) from trouble
        if not isinstance(said, dict) or ("result" not in said and "error" not in said):
            raise self._link.down(f"this is no aria2: {printable_body(answer.body)!r}.")
        if "error" in said:
            message = said["error"].get("message") if isinstance(said["error"], dict) else None
            if message == "Unauthorized":
                raise self._link.down("it does not know this secret.")
            raise self._link.refused(f"it says {str(message)[:200]!r}.")
        return said["result"]


def _name_of(said: dict[str, Any]) -> str:
    torrent = said.get("bittorrent")
    info = torrent.get("info") if isinstance(torrent, dict) else None
    return str(info.get("name", "")) if isinstance(info, dict) else ""
