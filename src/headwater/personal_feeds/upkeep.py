"""The upkeep of personal feeds: uses are noted, old items go, other tools' items are picked up."""

from headwater.core.values.instant import to_micros
from headwater.personal_feeds.services import PersonalServices


async def keep_up_personal_feeds(services: PersonalServices) -> None:
    """Several processes that do it do not get in each other's way."""
    await services.served.flush()
    await services.store.upkeep(to_micros(services.clock.now()))
