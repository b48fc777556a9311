"""The upkeep of personal feeds: uses are noted, old items go, other tools' items are picked up."""

from headwater.core.engine import Engine
from headwater.core.values.instant import to_micros


async def keep_up_personal_feeds(engine: Engine) -> None:
    """Several processes that do it do not get in each other's way."""
    await engine.personal_feeds.flush()
    await engine.personal.upkeep(to_micros(engine.clock.now()))
