"""The real service as programs meet it: wired by its settings, on a socket, behind an admin token.

async with live(settings) as service:
    await service.reader("Ada", "rivers", token=TOKEN)
    await service.publish(title="…", description="…", link="…", category="rivers")
    await service.ask(f"/rss?token={TOKEN}")
"""

import asyncio
import json
import urllib.error
import urllib.request
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headwater.settings import Settings
from headwater.wiring.app import open_services
from tests.support.api_caller import Answer
from tests.support.api_server import served
from tests.support.engine_parts import EngineParts
from tests.support.readers import Readers

ADMIN = "an-admin-token-of-the-tests"
TOKEN = "hwr_aTokenOfAda"


@dataclass(slots=True)
class Live:
    url: str
    engine: EngineParts

    @property
    def place(self) -> tuple[str, int]:
        host, _, port = self.url.removeprefix("http://").partition(":")
        return host, int(port)

    @property
    def readers(self) -> Readers:
        return Readers(self.engine)

    async def ask(self, target: str, *, method: str = "GET", **headers: str) -> Answer:
        return await asyncio.to_thread(_asked, self.url + target, method, headers, None)

    async def post(self, target: str, said: Any, **headers: str) -> Answer:
        every = {"Content-Type": "application/json", **headers}
        body = json.dumps(said).encode()
        return await asyncio.to_thread(_asked, self.url + target, "POST", every, body)

    async def publish(self, **item: Any) -> str:
        """As a program does; the guid of the item."""
        answer = await self.post("/internal/rss/item", item, Authorization=f"Bearer {ADMIN}")
        assert answer.status == 201, answer.body
        return str(answer.json["guid"])


def settings_for(folder: Path, database_url: str, **more: Any) -> Settings:
    every: dict[str, Any] = {
        "data_dir": folder,
        "database_url": database_url,
        "port": 0,
        "admin_token": ADMIN,
        "stop_seconds": 5,
    }
    return Settings(**(every | more))


@asynccontextmanager
async def live(settings: Settings) -> AsyncIterator[Live]:
    async with (
        open_services(settings) as services,
        served(EngineParts.of(services), settings) as running,
    ):
        engine = EngineParts.of(services)
        yield Live(running.url, engine)


def _asked(url: str, method: str, headers: dict[str, str], body: bytes | None) -> Answer:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    request = urllib.request.Request(url, body, named, method=method)
    try:
        with urllib.request.urlopen(request, timeout=30) as got:
            return Answer(got.status, _lower(got.headers), got.read())
    except urllib.error.HTTPError as refused:
        with refused:
            return Answer(refused.code, _lower(refused.headers), refused.read())


def _lower(headers: Any) -> dict[str, str]:
    return {name.lower(): value for name, value in headers.items()}
