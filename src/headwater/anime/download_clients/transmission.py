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

    def __init__(self, connection: ClientConnection) -> None:
        self._connection, self._session = connection, ""

    async def version(self) -> str:
        return f"Transmission {(await self._request('session-get')).get('version', '?')}"

    async def add(self, torrent: NewClientTorrent) -> None:
        if torrent.infohash in await self.list_torrents([torrent.infohash]):
            await self._label_if_ours(torrent)
            return
        arguments: dict[str, Any] = {
            "download-dir": torrent.save_path,
            "paused": False,
            "labels": [self._connection.config.tag],
        }
        if torrent.torrent is not None:
            arguments["metainfo"] = b64encode(torrent.torrent).decode()
        else:
            arguments["filename"] = torrent.magnet
        added = await self._request("torrent-add", arguments)
        if "torrent-added" in added:
            # Version 3 forgets labels that come with a new torrent.
            await self._label(torrent)

    async def _label(self, torrent: NewClientTorrent) -> None:
        await self._request(
            "torrent-set", {"ids": [torrent.infohash], "labels": [self._connection.config.tag]}
        )

    async def _label_if_ours(self, torrent: NewClientTorrent) -> None:
        """The client may have gone away after it took the torrent and before it got the label. The
        folder is made for this one torrent: a torrent there without any label is ours."""
        fields = ["hashString", "downloadDir", "labels"]
        listed = await self._list({"ids": [torrent.infohash], "fields": fields})
        for shown in listed:
            if not isinstance(shown, dict) or shown.get("labels") != []:
                continue
            if str(shown.get("downloadDir", "")).rstrip("/") == torrent.save_path.rstrip("/"):
                await self._label(torrent)

    async def list_torrents(self, infohashes: Sequence[str]) -> Mapping[str, ClientTorrent]:
        if not infohashes:
            return {}  # to the client, no hashes would mean all torrents
        self._connection.check_infohashes(infohashes)
        listed = await self._list({"ids": list(infohashes), "fields": _FIELDS})
        torrents = {torrent.infohash: torrent for torrent in map(self._torrent, listed)}
        await self._start([each for each in listed if _never_began(each)], torrents)
        return {name: torrent for name, torrent in torrents.items() if name in infohashes}

    async def _start(self, stopped: Sequence[Any], torrents: Mapping[str, ClientTorrent]) -> None:
        """A client that is restarted right after it took a torrent leaves that one stopped for
        ever: start it."""
        hashes = [shown["hashString"].lower() for shown in stopped]
        if ours := [infohash for infohash in hashes if torrents[infohash].is_ours]:
            await self._request("torrent-start", {"ids": ours})

    async def files(self, infohash: str) -> Sequence[ClientTorrentFile]:
        self._connection.check_infohashes([infohash])
        try:
            return [
                ClientTorrentFile(str(file["name"]), int(file["length"]))
                for shown in await self._list(
                    {"ids": [infohash], "fields": ["hashString", "files"]}
                )
                if shown["hashString"].lower() == infohash
                for file in shown["files"]
            ]
        except (AttributeError, KeyError, TypeError, ValueError, OverflowError) as trouble:
            raise self._connection.down("its list of files cannot be read.") from trouble

    async def remove(self, infohash: str, *, with_files: bool) -> bool:
        torrent = (await self.list_torrents([infohash])).get(infohash)
        if torrent is None:
            return False
        if not torrent.is_ours:
            raise self._connection.refused(f"the torrent {infohash} does not bear our label.")
        await self._request("torrent-remove", {"ids": [infohash], "delete-local-data": with_files})
        return True

    async def close(self) -> None:
        await self._connection.close()

    async def _list(self, arguments: Mapping[str, Any]) -> list[Any]:
        listed = (await self._request("torrent-get", arguments)).get("torrents")
        if not isinstance(listed, list):
            raise self._connection.down("its list of torrents is none.")
        return listed

    def _torrent(self, shown: Any) -> ClientTorrent:
        try:
            state = _STATES[shown["status"]]
            if shown["metadataPercentComplete"] < 1:
                state = "waiting"  # for the torrent behind a magnet link, whatever the client says
            elif state != "checking" and shown["leftUntilDone"] == 0:
                state = "complete"
            if shown["error"] == 3:  # 1 and 2 are trackers' warnings
                state = "failed"
            return ClientTorrent(
                infohash=shown["hashString"].lower(),
                name=str(shown["name"]),
                state=state,
                progress=parse_progress(shown["percentDone"]),
                size=int(shown["totalSize"]),
                save_path=str(shown["downloadDir"]),
                is_ours=self._connection.config.tag in shown.get("labels", ()),
                detail=printable_text(shown["errorString"]),
            )
        except (AttributeError, LookupError, TypeError, ValueError, OverflowError) as trouble:
            raise self._connection.down("its list of torrents cannot be read.") from trouble

    async def _request(
        self, method: str, arguments: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        body = orjson.dumps({"method": method, "arguments": arguments or {}})
        answer = await self._connection.post("", body, "application/json", self._headers())
        if answer.status == 409:
            self._session = header(answer.response_headers, _SESSION) or ""
            answer = await self._connection.post("", body, "application/json", self._headers())
        if answer.status == 401:
            raise self._connection.down("it does not know this user name and password.")
        reply = self._connection.json_of(answer)
        if not isinstance(reply, dict) or not isinstance(reply.get("arguments"), dict):
            raise self._connection.down(
                f"this is no Transmission: {printable_body(answer.body)!r}."
            )
        if reply.get("result") != "success":
            raise self._connection.refused(f"it says {str(reply.get('result'))[:200]!r}.")
        returned: dict[str, Any] = reply["arguments"]
        return returned

    def _headers(self) -> Headers:
        config = self._connection.config
        fields = [(_SESSION, self._session)] if self._session else []
        if config.username or config.password:
            login = b64encode(f"{config.username}:{config.password}".encode()).decode()
            fields.append(("Authorization", f"Basic {login}"))
        return tuple(fields)


def _never_began(shown: Mapping[str, Any]) -> bool:
    """A torrent that a person has stopped had begun before: it has a date of its start."""
    return shown["status"] == 0 and shown.get("startDate") == 0 and shown["error"] == 0
