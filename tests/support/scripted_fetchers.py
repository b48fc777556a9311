"""A `FetcherClient` that answers as a test says, without a process."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from headwater.entrypoints.api.app import create_app
from headwater.settings import Settings
from headwater.subscriptions.fetchers.ports import FetcherAnswer, HttpReply
from tests.support.api_caller import Answer, Api
from tests.support.engine_parts import EngineParts

YES = FetcherAnswer("yes", "yes")
NO = FetcherAnswer("no", "no")
TIMEOUT = FetcherAnswer("silent", "timeout", "no answer in time")


@dataclass(slots=True)
class ScriptedFetchers:
    """Answers by `base_url`; who is not in the script can handle everything.

    `meanwhile` happens between each question and its answer.
    """

    answers: dict[str, FetcherAnswer] = field(default_factory=dict)
    asked: list[tuple[str, str, str]] = field(default_factory=list)
    meanwhile: Callable[[], Awaitable[None]] | None = None

    async def can_handle(
        self,
        base_url: str,
        signing_key: bytes | None,
        source_url: str,
        source_type: str,
        deadline: float,
    ) -> FetcherAnswer:
        self.asked.append((base_url, source_url, source_type))
        if self.meanwhile is not None:
            await self.meanwhile()
        return self.answers.get(base_url, YES)

    async def post(
        self,
        url: str,
        signing_key: bytes | None,
        body: bytes,
        deadline: float,
        message_id: str | None = None,
    ) -> HttpReply:
        return HttpReply(200)

    async def close(self) -> None:
        return None


@dataclass(slots=True)
class Registry:
    """What tests of the registry keep doing, each in one word."""

    api: Api
    engine: EngineParts
    fetchers: ScriptedFetchers

    async def joined(self, name: str, *, priority: int = 100, **facts: object) -> int:
        """The number of a fetcher that joined under this name."""
        said = {"service_name": name, "host": f"{name}.example", "port": 8080, "priority": priority}
        made = await self.api.post("/services/register", said | facts)
        assert made.status == 201, made.body
        return int(made.json["fetcher_id"])

    async def subscribed(self, url: str, **facts: object) -> Answer:
        made = await self.api.post("/subscriptions", {"source_url": url, **facts})
        assert made.status == 201, made.body
        return made

    async def events(self) -> list[tuple[str, dict[str, object]]]:
        told = (await self.api.get("/events?limit=500")).json["events"]
        return [(each["type"], each["payload"]) for each in told]

    async def history(self, subscription_id: int) -> list[dict[str, object]]:
        """The oldest first."""
        found = await self.api.get(f"/subscriptions/{subscription_id}/history")
        return list(reversed(found.json["history"]))

    async def column(self, feed_id: str, name: str) -> object:
        async with self.engine.database.read() as view:
            row = await view.row(f"SELECT {name} AS it FROM feeds WHERE feed_id = ?", feed_id)
        assert row is not None
        return row.it


def another_api(engine: EngineParts, settings: Settings, token: str | None = None) -> Api:
    return Api(create_app(engine.services, settings), token)
