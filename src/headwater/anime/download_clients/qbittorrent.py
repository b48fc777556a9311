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
"""Hashes in one question: they stand in the address."""

_RETRY_SECONDS = (0.1, 0.4, 1.5)
"""Seconds between looks for a torrent that is taken already: it is listed only in a moment."""

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
    """A `DownloadClient`. One session, opened again when the client forgets it."""

    deletes_files = True
    usual_path = ""

    def __init__(
        self, link: ClientConnection, *, sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    ) -> None:
        self._link, self._cookie, self._sleep = link, "", sleep
        self._ids: dict[str, str] = {}

    async def version(self) -> str:
        answer = await self._get("/api/v2/app/version")
        if answer.status != 200 or _VERSION.fullmatch(answer.body) is None:
            raise self._link.down(f"this is no qBittorrent: {printable_body(answer.body)!r}.")
        return f"qBittorrent {printable_body(answer.body)}"

    async def add(self, job: NewClientTorrent) -> None:
        if job.infohash in await self.list_torrents([job.infohash]):
            return
        plan = self._link.plan
        fields = {
            "savepath": job.save_path,
            "category": plan.category,
            "tags": plan.tag,
            "autoTMM": "false",
            "contentLayout": "Original",
        }
        if job.torrent is None:
            fields["urls"] = job.magnet or ""
        body, kind = _multipart(fields, job.torrent)
        answer = await self._post("/api/v2/torrents/add", body, kind)
        if answer.status == 415:
            raise self._link.refused("it says that this is no torrent.")
        if answer.status not in (200, 202, 204, 409):
            raise self._link.down(f"it answered {answer.status}.")
        if answer.status == 202 or answer.body.strip() == b"Ok.":
            return  # from 5.2 on, 202 says that it will take it in a moment
        if not await self._has_soon(job.infohash):
            raise self._link.refused(
                f"it did not take the torrent: {printable_body(answer.body)!r}."
            )

    async def _has_soon(self, infohash: str) -> bool:
        for pause in _RETRY_SECONDS:
            if infohash in await self.list_torrents([infohash]):
                return True
            await self._sleep(pause)
        if infohash in await self.list_torrents([infohash]):
            return True
        return bool(await self._of_both_versions({infohash}, "filter=all"))

    async def list_torrents(self, infohashes: Sequence[str]) -> Mapping[str, ClientTorrent]:
        found: dict[str, ClientTorrent] = {}
        for at in range(0, len(infohashes), _AT_ONCE):
            some = self._link.named(infohashes[at : at + _AT_ONCE])
            names = {each: each for each in some}
            names |= {self._ids[each]: each for each in some if each in self._ids}
            for said in await self._listed(f"hashes={'%7C'.join(names)}"):
                job = self._job(said)
                if (name := names.get(job.infohash)) is not None:
                    found[name] = replace(job, infohash=name)
        if left := {each for each in infohashes if each not in found}:
            ours = f"category={quote(self._link.plan.category)}"
            found |= await self._of_both_versions(left, ours)
        return found

    async def _of_both_versions(self, infohashes: Set[str], among: str) -> dict[str, ClientTorrent]:
        """A torrent of both versions is called by its second hash here, and cannot be asked for by
        its first, which feeds and other clients know it by. Ours are looked for in our category;
        among all torrents, of which there may be thousands, only what is there already."""
        found: dict[str, ClientTorrent] = {}
        for said in await self._listed(among):
            job, first = self._job(said), str(said.get("infohash_v1") or "").lower()
            if first in infohashes and job.infohash != first:
                self._ids[first] = job.infohash
                found[first] = replace(job, infohash=first)
        return found

    async def _listed(self, asked: str) -> list[Any]:
        listed = self._link.json_of(await self._get(f"/api/v2/torrents/info?{asked}"))
        if not isinstance(listed, list):
            raise self._link.down("its list of torrents is none.")
        return listed

    async def files(self, infohash: str) -> Sequence[ClientTorrentFile]:
        (name,) = self._link.named([infohash])
        answer = await self._get(f"/api/v2/torrents/files?hash={self._ids.get(name, name)}")
        if answer.status == 404:
            return ()
        try:
            return [
                ClientTorrentFile(str(f["name"]), int(f["size"]))
                for f in self._link.json_of(answer)
            ]
        except (KeyError, TypeError, ValueError, OverflowError) as trouble:
            raise self._link.down("its list of files cannot be read.") from trouble

    async def remove(self, infohash: str, *, with_files: bool) -> bool:
        there = (await self.list_torrents([infohash])).get(infohash)
        if there is None:
            return False
        if not there.is_ours:
            raise self._link.refused(f"the torrent {infohash} does not bear our tag.")
        form = {"hashes": self._ids.get(infohash, infohash), "deleteFiles": str(with_files).lower()}
        answer = await self._post(
            "/api/v2/torrents/delete", urlencode(form).encode(), FORM_MEDIA_TYPE
        )
        if answer.status not in (200, 204):
            raise self._link.down(f"it answered {answer.status}.")
        return True

    async def close(self) -> None:
        await self._link.close()

    def _job(self, said: Any) -> ClientTorrent:
        try:
            tags = [tag.strip() for tag in said["tags"].split(",")]
            state = str(said["state"])
            return ClientTorrent(
                infohash=said["hash"].lower(),
                name=str(said["name"]),
                state=_STATES.get(state, "waiting"),
                progress=parse_progress(said["progress"]),
                size=int(said["size"]),
                save_path=str(said["save_path"]),
                is_ours=self._link.plan.tag in tags,
                detail=printable_text(state),
            )
        except (AttributeError, KeyError, TypeError, ValueError, OverflowError) as trouble:
            raise self._link.down("its list of torrents cannot be read.") from trouble

    async def _get(self, path: str) -> HttpAnswer:
        answer = await self._link.get(path, await self._session())
        if answer.status == 403:
            answer = await self._link.get(path, await self._session(again=True))
        return answer

    async def _post(self, path: str, body: bytes, kind: str) -> HttpAnswer:
        answer = await self._link.post(path, body, kind, await self._session())
        if answer.status == 403:
            answer = await self._link.post(path, body, kind, await self._session(again=True))
        return answer

    async def _session(self, *, again: bool = False) -> Headers:
        """The client's protection wants to see an address of its own in `Referer`."""
        former = self._cookie
        async with self._link.door:
            if not self._cookie or (again and self._cookie == former):
                self._cookie = await self._log_in()
        return ("Referer", self._link.origin), ("Cookie", self._cookie)

    async def _log_in(self) -> str:
        plan = self._link.plan
        form = urlencode({"username": plan.username, "password": plan.password}, quote_via=quote)
        here = (("Referer", self._link.origin),)
        answer = await self._link.post("/api/v2/auth/login", form.encode(), FORM_MEDIA_TYPE, here)
        if answer.status == 403:
            raise self._link.down("it has locked us out for a while: too many wrong passwords.")
        cookie = next(
            (
                value.partition(";")[0]
                for name, value in answer.response_headers
                if name.lower() == "set-cookie" and "SID" in value.partition("=")[0].upper()
            ),
            "",
        )
        is_in = answer.status == 204 or (answer.status == 200 and answer.body.strip() == b"Ok.")
        if not is_in or not cookie:
            raise self._link.down("it does not know this user name and password.")
        return cookie


def _multipart(fields: Mapping[str, str], torrent: bytes | None) -> tuple[bytes, str]:
    mark = f"headwater{token_hex(16)}"
    parts = [
        f'--{mark}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'.encode()
        for name, value in fields.items()
    ]
    if torrent is not None:
        head = (
            f'--{mark}\r\nContent-Disposition: form-data; name="torrents";'
            ' filename="release.torrent"\r\nContent-Type: application/x-bittorrent\r\n\r\n'
        )
        parts.append(head.encode() + torrent + b"\r\n")
    parts.append(f"--{mark}--\r\n".encode())
    return b"".join(parts), f"multipart/form-data; boundary={mark}"
