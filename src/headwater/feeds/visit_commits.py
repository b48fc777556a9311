"""The two commits of visits: visits that come to a commit together share its transaction."""

from functools import partial

from headwater.core.concurrency import Batcher
from headwater.core.errors import DatabaseRefused
from headwater.feeds.commit_visits import (
    CommitResult,
    CommitServices,
    PreparedVisit,
    commit_visits,
    prepare_visit,
)
from headwater.feeds.judge_visit import FinishedVisit
from headwater.feeds.ports import Blobs
from headwater.feeds.raw.archive import ArchivedBody, archive_group
from headwater.feeds.raw.raw_fetch import RawFetch

_ARCHIVED_TOGETHER = 96
"""Groups are smaller than those of the other commit, because parsing waits for this one."""


class VisitCommits:
    """One for each process, so that all its visits share their commits."""

    def __init__(self, services: CommitServices, blobs: Blobs) -> None:
        self._services = services
        self._archive: Batcher[RawFetch, ArchivedBody | DatabaseRefused] = Batcher(
            partial(archive_group, services.database, blobs), most=_ARCHIVED_TOGETHER
        )
        self._commit: Batcher[PreparedVisit, CommitResult] = Batcher(
            partial(commit_visits, services)
        )

    async def archive(self, raw: RawFetch) -> ArchivedBody | DatabaseRefused:
        """The first commit: the body is safe before anything refers to it."""
        return await self._archive.join(raw)

    async def commit(self, finished: FinishedVisit) -> CommitResult:
        """The second commit: everything that the visit has brought."""
        return await self._commit.join(prepare_visit(self._services, finished))

    async def drain(self) -> None:
        """Return when everything that was taken is committed."""
        await self._archive.drain()
        await self._commit.drain()

    async def close(self) -> None:
        """Take no more, and return when everything that was taken is committed."""
        await self._archive.close()
        await self._commit.close()
