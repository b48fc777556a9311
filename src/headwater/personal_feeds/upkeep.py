"""The upkeep of personal feeds: write last uses, delete old items, pick up other tools' items."""

from headwater.core.values.instant import to_micros
from headwater.personal_feeds.services import PersonalServices


async def keep_up_personal_feeds(services: PersonalServices) -> None:
    """One round of it. Several processes may do it at the same time."""
    await services.served.flush()
    await services.store.upkeep(to_micros(services.clock.now()))
