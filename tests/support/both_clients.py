"""Both clients in one shape, so that one test asks the same of each."""

import asyncio
from contextlib import aclosing
from typing import Any, Literal

from headwater.client import AsyncClient, Client, Event, Patience

Kind = Literal["threads", "loops"]
KINDS: tuple[Kind, ...] = ("threads", "loops")
QUICK = Patience(connect=5.0, ask=5.0, stream=5.0, shortest_rest=0.001, longest_rest=0.05)


async def events(
    kind: Kind,
    url: str,
    count: int,
    *,
    token: str | None = None,
    patience: Patience = QUICK,
    tls: Any = None,
    **how: Any,
) -> list[Event]:
    """The first `count` of them (or all, when the stream ends before)."""
    if kind == "threads":
        client = Client(url, token, patience=patience, tls=tls)
        return await asyncio.to_thread(_taken, client, count, how)
    found: list[Event] = []
    async with aclosing(AsyncClient(url, token, patience=patience, tls=tls).events(**how)) as told:
        async for event in told:
            found.append(event)
            if len(found) == count:
                break
    return found


def _taken(client: Client, count: int, how: dict[str, Any]) -> list[Event]:
    found: list[Event] = []
    for event in client.events(**how):
        found.append(event)
        if len(found) == count:
            break
    return found
