"""What people say of a show: the words they used, laid over what is known or proposed."""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from headwater.collect.release import Kind
from headwater.collect.show import Show, checked_show
from headwater.errors import BadInput
from headwater.subscribe.feed import KEEP, Keep


@dataclass(frozen=True, slots=True)
class ShowWish:
    """`KEEP`: as it is; for a new show, as its feed proposes. `air_weekday`: 0 is Monday."""

    title: str | Keep = KEEP
    year: int | Keep | None = KEEP
    season: int | Keep = KEEP
    episode_offset: int | Keep = KEEP
    episodes: int | Keep | None = KEEP
    titles: tuple[str, ...] | Keep = KEEP
    main_kind: Kind | Keep | None = KEEP
    specials: Mapping[str, int] | Keep = KEEP
    air_weekday: int | Keep | None = KEEP

    def said(self) -> dict[str, Any]:
        """Only what was said."""
        values = {each.name: getattr(self, each.name) for each in fields(self)}
        return {name: value for name, value in values.items() if value is not KEEP}


def wished_show(show: Show, wish: ShowWish) -> Show:
    """BadInput for what no library could hold."""
    said = wish.said()
    said.pop("air_weekday", None)
    return checked_show(replace(show, **said))


def wished_weekday(weekday: int | None, wish: ShowWish) -> int | None:
    said = weekday if wish.air_weekday is KEEP else wish.air_weekday
    if said is not None and not 0 <= said <= 6:
        raise BadInput("A weekday is a number from 0 (Monday) to 6 (Sunday).", air_weekday=said)
    return said
