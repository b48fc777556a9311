"""The upkeep of releases: trackings catch up, and missing episodes are announced."""

from headwater.anime.decide.decide_again import catch_up
from headwater.anime.decide.decision_rows import list_trackings_behind
from headwater.anime.decide.release_sink import sync_release_sink
from headwater.anime.episodes.missing_alerts import announce_missing_episodes
from headwater.anime.services import ReleaseServices
from headwater.core.errors import NotFound

GAPS_EVERY_SECONDS = 600.0


class ReleaseUpkeep:
    """One per process; several do not disturb each other. Where nothing is tracked, it asks the
    database two small questions every few seconds."""

    def __init__(
        self, services: ReleaseServices, *, gaps_every: float = GAPS_EVERY_SECONDS
    ) -> None:
        self._services, self._gaps_every = services, gaps_every
        self._gaps_at = -gaps_every
        self._is_stopping = False

    async def once(self) -> None:
        await sync_release_sink(self._services)
        async with self._services.database.read() as view:
            waiting = await list_trackings_behind(view)
        for tracking_id in waiting:
            if self._is_stopping:
                return
            try:
                await catch_up(self._services, tracking_id)
            except NotFound:  # somebody has just removed it
                continue
        now = self._services.clock.monotonic()
        if now - self._gaps_at >= self._gaps_every:
            self._gaps_at = now
            await announce_missing_episodes(self._services)

    def stop(self) -> None:
        """No further tracking is begun."""
        self._is_stopping = True
