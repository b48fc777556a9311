"""A store that counts what it is asked, and can be out of reach or slow."""

import asyncio
from collections import Counter
from typing import Any

from headwater.core.errors import ConnectionLost
from headwater.personal_feeds.ports import PersonalStore


class CountingStore:
    """`ports.PersonalStore`: all questions go on to another one."""

    def __init__(self, inner: PersonalStore) -> None:
        self._inner = inner
        self.asked: Counter[str] = Counter()
        self.is_away = False
        self.held: dict[str, asyncio.Event] = {}
        self.begun: dict[str, asyncio.Event] = {}

    def hold(self, name: str) -> asyncio.Event:
        """The next answers to this question are made, and then wait until the event is set."""
        self.begun[name] = asyncio.Event()
        self.held[name] = asyncio.Event()
        return self.held[name]

    def __getattr__(self, name: str) -> Any:
        asked = getattr(self._inner, name)
        if not asyncio.iscoroutinefunction(asked):
            return asked

        async def counted(*given: Any, **named: Any) -> Any:
            self.asked[name] += 1
            if self.is_away:
                raise ConnectionLost("The store cannot be reached.")
            answer = await asked(*given, **named)
            if (event := self.held.get(name)) is not None:
                self.begun[name].set()
                await event.wait()
            return answer

        return counted

    def taken(self) -> dict[str, int]:
        """What was asked since the last time."""
        counted = dict(self.asked)
        self.asked.clear()
        return counted
