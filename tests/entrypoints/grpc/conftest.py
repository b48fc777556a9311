"""A gRPC server on loopback with a real client, over either database; time is the real one."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grpc
import pytest
from fastapi import FastAPI

from headwater.adapters.clock import SystemClock
from headwater.adapters.database import SqlDatabase
from headwater.client.grpc.headwater_pb2_grpc import HeadwaterStub
from headwater.entrypoints.api.app import create_app
from headwater.entrypoints.grpc.server import GrpcListener, GrpcServer
from headwater.events.event import Event
from headwater.events.event_rows import append_events
from headwater.settings import Settings
from tests.support.api_caller import Api
from tests.support.engine_parts import EngineParts
from tests.support.scripted_engine import River, ScriptedWeb, an_engine

ADMIN = "an-admin-token-of-the-tests"
SECONDS = 30.0


@dataclass
class Served:
    """A running server, a stub that asks it, and the same desk over HTTP."""

    address: str
    part: GrpcServer
    app: FastAPI
    stub: Any
    task: "asyncio.Task[None]"

    @property
    def api(self) -> Api:
        return Api(self.app)

    async def end(self) -> None:
        self.part.stop()
        await self.task
        # A look at the log that is under way ends by itself; the database must stay until then.
        if others := asyncio.all_tasks() - {asyncio.current_task()}:
            await asyncio.wait(others, timeout=SECONDS)


def stub_of(channel: Any) -> Any:
    return HeadwaterStub(channel)  # type: ignore[no-untyped-call]  # generated


Serve = Callable[..., AbstractAsyncContextManager[Served]]


@pytest.fixture
def engine(database: SqlDatabase, tmp_path: Path) -> EngineParts:
    return an_engine(database, SystemClock(), ScriptedWeb(), tmp_path)


@pytest.fixture
def river(engine: EngineParts) -> River:
    return River(engine, ScriptedWeb())


@pytest.fixture
def serve(engine: EngineParts, tmp_path: Path) -> Serve:
    @asynccontextmanager
    async def serving(**more: Any) -> AsyncIterator[Served]:
        settings = Settings(data_dir=tmp_path, grpc_port=0, **more)
        app = create_app(engine.services, settings)
        door = GrpcListener(settings)
        part = GrpcServer(door, app.state.context)
        task = asyncio.create_task(part.run())
        async with grpc.aio.insecure_channel(door.address) as channel:
            served = Served(door.address, part, app, stub_of(channel), task)
            try:
                yield served
            finally:
                await served.end()

    return serving


@pytest.fixture
async def served(serve: Serve) -> AsyncIterator[Served]:
    """Everything is open: no admin token, loopback."""
    async with serve() as running:
        yield running


async def tell(engine: EngineParts, *events: Event) -> None:
    async with engine.database.write() as tx:
        await append_events(tx, events, engine.clock.now())


def refused(trouble: grpc.aio.AioRpcError) -> tuple[grpc.StatusCode, str | None]:
    """The status, and the code of the envelope."""
    trailing = {str(name): value for name, value in trouble.trailing_metadata() or ()}
    return trouble.code(), trailing.get("headwater-error")
