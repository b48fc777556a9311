"""Transmission, 2.80 and later, through its RPC. Our tag is a label, from 3.00 on."""

from base64 import b64encode
from collections.abc import Mapping, Sequence
from typing import Any

import orjson

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
from headwater.core.values.response import Headers, header

_SESSION = "X-Transmission-Session-Id"
_STATES: tuple[ClientTorrentState, ...] = (
    "waiting",  # stopped
    "checking",  # waits to be checked
    "checking",
    "waiting",  # waits to download
    "downloading",
    "complete",  # waits to seed
    "complete",
)
_FIELDS = (
    "hashString name status percentDone leftUntilDone totalSize downloadDir labels error"
    " errorString metadataPercentComplete startDate"
).split()


class Transmission:
    """A `DownloadClient`."""

    deletes_files = True
    usual_path = "/transmission/rpc"

    def __init__(self, link: ClientConnection) -> None:
        self._link, self._session = link, ""

    async def version(self) -> str:
        return f"Transmission {(await self._ask('session-get')).get('version', '?')}"

    async def add(self, job: NewClientTorrent) -> None:
        if job.infohash in await self.list_torrents([job.infohash]):
            await self._label_if_ours(job)
            return
        wish: dict[str, Any] = {
            "download-dir": job.save_path,
            "paused": False,
            "labels": [self._link.plan.tag],
        }
        if job.torrent is not None:
            wish["metainfo"] = b64encode(job.torrent).decode()
        else:
            wish["filename"] = job.magnet
        added = await self._ask("torrent-add", wish)
        if "torrent-added" in added:
            # Version 3 forgets labels that come with a new torrent.
            await self._label(job)

    async def _label(self, job: NewClientTorrent) -> None:
        await self._ask("torrent-set", {"ids": [job.infohash], "labels": [self._link.plan.tag]})

    async def _label_if_ours(self, job: NewClientTorrent) -> None:
        """It may have gone away between taking the torrent and hearing of the label. The folder is
        made for this one torrent: who has it there without any label has it from us."""
        fields = ["hashString", "downloadDir", "labels"]
        said = await self._ask("torrent-get", {"ids": [job.infohash], "fields": fields})
        for each in self._listed(said):
            if not isinstance(each, dict) or each.get("labels") != []:
                continue
            if str(each.get("downloadDir", "")).rstrip("/") == job.save_path.rstrip("/"):
                await self._label(job)

    async def list_torrents(self, infohashes: Sequence[str]) -> Mapping[str, ClientTorrent]:
        if not infohashes:
            return {}  # to the client, no names would mean all of them
        wish = {"ids": list(self._link.named(infohashes)), "fields": _FIELDS}
        listed = self._listed(await self._ask("torrent-get", wish))
        found = {job.infohash: job for job in map(self._job, listed)}
        await self._begin([each for each in listed if _never_began(each)], found)
        return {infohash: job for infohash, job in found.items() if infohash in infohashes}

    async def _begin(self, stopped: Sequence[Any], found: Mapping[str, ClientTorrent]) -> None:
        """Restarted right after it took a torrent, the client leaves that one stopped for ever."""
        hashes = [each["hashString"].lower() for each in stopped]
        if ours := [infohash for infohash in hashes if found[infohash].is_ours]:
            await self._ask("torrent-start", {"ids": ours})

    async def files(self, infohash: str) -> Sequence[ClientTorrentFile]:
        wish = {"ids": self._link.named([infohash]), "fields": ["hashString", "files"]}
        try:
            return [
                ClientTorrentFile(str(file["name"]), int(file["length"]))
                for each in self._listed(await self._ask("torrent-get", wish))
                if each["hashString"].lower() == infohash
                for file in each["files"]
            ]
        except (AttributeError, KeyError, TypeError, ValueError, OverflowError) as trouble:
            raise self._link.down("its list of files cannot be read.") from trouble

    async def remove(self, infohash: str, *, with_files: bool) -> bool:
        there = (await self.list_torrents([infohash])).get(infohash)
        if there is None:
            return False
        if not there.is_ours:
            raise self._link.refused(f"the torrent {infohash} does not bear our label.")
        await self._ask("torrent-remove", {"ids": [infohash], "delete-local-data": with_files})
        return True

    async def close(self) -> None:
        await self._link.close()

    def _listed(self, said: Mapping[str, Any]) -> list[Any]:
        listed = said.get("torrents")
        if not isinstance(listed, list):
            raise self._link.down("its list of torrents is none.")
        return listed

    def _job(self, said: Any) -> ClientTorrent:
        try:
            state = _STATES[said["status"]]
            if said["metadataPercentComplete"] < 1:
                state = "waiting"  # for the torrent behind a magnet link, whatever it says
            elif state != "checking" and said["leftUntilDone"] == 0:
                state = "complete"
            if said["error"] == 3:  # 1 and 2 are trackers' warnings
                state = "failed"
            return ClientTorrent(
                infohash=said["hashString"].lower(),
                name=str(said["name"]),
                state=state,
                progress=parse_progress(said["percentDone"]),
                size=int(said["totalSize"]),
                save_path=str(said["downloadDir"]),
                is_ours=self._link.plan.tag in said.get("labels", ()),
                detail=printable_text(said["errorString"]),
            )
        except (AttributeError, LookupError, TypeError, ValueError, OverflowError) as trouble:
            raise self._link.down("its list of torrents cannot be read.") from trouble

    async def _ask(self, method: str, wish: Mapping[str, Any] | None = None) -> dict[str, Any]:
        body = orjson.dumps({"method": method, "arguments": wish or {}})
        answer = await self._link.post("", body, "application/json", self._headers())
        if answer.status == 409:
            self._session = header(answer.response_headers, _SESSION) or ""
            answer = await self._link.post("", body, "application/json", self._headers())
        if answer.status == 401:
            raise self._link.down("it does not know this user name and password.")
        said = self._link.json_of(answer)
        if not isinstance(said, dict) or not isinstance(said.get("arguments"), dict):
            raise self._link.down(f"this is no Transmission: {printable_body(answer.body)!r}.")
        if said.get("result") != "success":
            raise self._link.refused(f"it says {str(said.get('result'))[:200]!r}.")
        arguments: dict[str, Any] = said["arguments"]
        return arguments

    def _headers(self) -> Headers:
        plan = self._link.plan
        fields = [(_SESSION, self._session)] if self._session else []
        if plan.username or plan.password:
            login = b64encode(f"{plan.username}:{plan.password}".encode()).decode()
            fields.append(("Authorization", f"Basic {login}"))
        return tuple(fields)


def _never_began(said: Mapping[str, Any]) -> bool:
    """What a person has stopped had begun before."""
    return said["status"] == 0 and said.get("startDate") == 0 and said["error"] == 0
