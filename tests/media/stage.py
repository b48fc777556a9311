"""A season's world: a site, a client, a library, the real service between them, and an audit."""

import asyncio
import sys
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from headwater.anime.download_clients.connection import DownloadClientConfig
from tests.crash.audit import Broken
from tests.crash.running import COMMAND, Service
from tests.media import doomed
from tests.media.audit import Auditor, Record, table_of
from tests.media.shelf import Slot, Watch
from tests.media.site import Published, ReleaseSite
from tests.media.swarm import Swarm
from tests.media.witness import Witness
from tests.support.origin import Origin

WITHIN = 90.0
LOOKS_EVERY = 0.05

QUICK = {
    "HEADWATER_MEDIA_LOOK_SEC": "0.2",
    "HEADWATER_MEDIA_PAUSE_CAP_SEC": "1",
    "HEADWATER_MEDIA_ATTEMPTS": "1000",
    "HEADWATER_MEDIA_FREE_BYTES": "0",
}
"""Nothing is waited for longer than a test can."""


@dataclass(slots=True)
class Stage:
    """`program` is what is run as Headwater; one that dies is started again, always."""

    room: Path
    plan: DownloadClientConfig
    swarm: Swarm
    site: ReleaseSite
    watch: Watch
    auditor: Auditor
    witness: Witness
    settings: dict[str, str]
    program: tuple[str | Path, ...]
    source: Path | None
    service: Service = field(init=False)
    published: list[Published] = field(default_factory=list)
    helping: bool = True
    also_helped: frozenset[str] = frozenset()
    starts: int = 0

    def __post_init__(self) -> None:
        self.service = self._new_service()

    @property
    def deaths(self) -> list[str]:
        """Points at which a doomed service has died."""
        return sorted(place.name for place in (self.room / "doom").iterdir())

    async def start(self) -> None:
        """It may die before it has said hello, but not without a reason."""
        while True:
            self.starts += 1
            before = len(self.deaths)
            try:
                await self.service.start()
            except AssertionError:
                if len(self.deaths) == before:
                    raise
                await self.service.ended()
            else:
                return

    async def restart(self, **settings: str) -> None:
        """Stopped in order, and started with other settings."""
        if not self.service.has_ended:
            await self.service.stop()
        self.settings |= {f"HEADWATER_{name.upper()}": value for name, value in settings.items()}
        self.service = self._new_service()
        await self.start()

    async def track(self, wish: Mapping[str, Any]) -> None:
        """Asked again when the service died before it could answer."""
        while not table_of(self.auditor.database, "trackings"):
            try:
                await self.service.post("/trackings", {"feed_url": self.site.feed.url, **wish})
            except OSError:
                await self._look()

    def publish(self, *releases: Published) -> None:
        for release in releases:
            self.swarm.seed(release.torrent)
            self.published.append(release)

    async def until(self, what: Callable[[], bool], words: str) -> None:
        """Whoever dies on the way gets all of the time again."""
        starts, ends = self.starts, time.monotonic() + WITHIN
        while not what():
            await self._look()
            if self.starts > starts:
                starts, ends = self.starts, time.monotonic() + WITHIN
            assert time.monotonic() < ends, f"not {words}: {self.told()}"

    async def for_a_while(self, seconds: float) -> None:
        """Nothing is expected to happen that could be waited for."""
        ends = time.monotonic() + seconds
        await self.until(lambda: time.monotonic() > ends, "later")

    async def until_shown(self, expected: Mapping[Slot, Published]) -> None:
        """The library shows these, each once, and everything that was replaced is gone."""
        await self.until(
            lambda: not self.auditor.judge_at_rest(self.published, expected) or self._is_broken(),
            f"as it should be at rest {[each.title for each in expected.values()]}",
        )
        assert self.broken() == []

    def broken(self) -> list[Broken]:
        return self.auditor.judge(self.published)

    def downloads(self) -> list[Record]:
        return table_of(self.auditor.database, "downloads")

    def told(self) -> str:
        """For people, when something does not come."""
        rows = [
            {name: row[name] for name in ("id", "state", "slots", "attempts", "error", "detail")}
            for row in self.downloads()
        ]
        decided = [
            (row["title"], row["action"], row["reason"])
            for row in table_of(self.auditor.database, "releases")
        ]
        seen = {slot: [each.path for each in some] for slot, some in self.watch.shown().items()}
        parts = [self.broken(), rows, decided, seen, self.witness.calls]
        return "\n".join([*map(repr, parts), self.service.last_words()])

    def _is_broken(self) -> bool:
        return bool(self.auditor.broken)

    def _on_their_way(self) -> set[str]:
        return {row["infohash"] for row in self.downloads() if row["state"] == "added"}

    async def _look(self) -> None:
        if self.service.has_ended:
            await self.service.ended()
            await self.start()
        if self.helping:
            await asyncio.to_thread(self.swarm.help, self.also_helped | self._on_their_way())
        await asyncio.sleep(LOOKS_EVERY)

    def _new_service(self) -> Service:
        return Service(
            self.room / "service", self.settings, source=self.source, program=self.program
        )


@asynccontextmanager
async def opened_stage(
    room: Path,
    plan: DownloadClientConfig,
    swarm: Swarm,
    *,
    foreign: str,
    is_doomed: bool = False,
    source: Path | None = None,
) -> AsyncIterator[Stage]:
    """`foreign` is the hash of a torrent in the client that is not ours."""
    for name in ("service", "library", "downloads", "doom"):
        (room / name).mkdir(parents=True, exist_ok=True)
    database, watch = room / "headwater.sqlite", Watch(room / "library")
    auditor = Auditor(database, watch, frozenset({foreign}))
    port = int(plan.url.rpartition(":")[2])
    program = (sys.executable, doomed.__file__) if is_doomed else (COMMAND,)
    async with Origin() as origin, Witness(port, auditor.sees) as witness:
        settings = {
            **QUICK,
            "DATABASE_URL": f"sqlite:///{database}",
            doomed.FOLDER: str(room / "doom"),
            "HEADWATER_MEDIA_CLIENT": plan.kind,
            "HEADWATER_MEDIA_CLIENT_URL": f"http://127.0.0.1:{witness.port}",
            "HEADWATER_MEDIA_CLIENT_USERNAME": plan.username,
            "HEADWATER_MEDIA_CLIENT_PASSWORD": plan.password,
            "HEADWATER_MEDIA_DOWNLOADS": str(room / "downloads"),
            "HEADWATER_MEDIA_LIBRARY": str(room / "library"),
        }
        site = ReleaseSite(origin)
        stage = Stage(room, plan, swarm, site, watch, auditor, witness, settings, program, source)
        watch.start()
        try:
            await stage.start()
            yield stage
        finally:
            await stage.service.end()
            watch.stop()
