"""The peer of the served feeds: `python -m bench.personal.bare FILE`.

A bare FastAPI app on plain uvicorn whose one route returns bytes from memory. FILE holds the bytes
for each token. Says `{"port": …}` when it listens, and ends with its input.
"""

import asyncio
import json
import socket
import sys
from pathlib import Path

import uvicorn
from fastapi import FastAPI, Response

from headwater.entrypoints.server.event_loop import new_event_loop


def bare_app(bodies: dict[str, bytes]) -> FastAPI:
    app = FastAPI()

    @app.get("/rss")
    async def rss(token: str) -> Response:
        return Response(bodies[token], media_type="application/rss+xml")

    return app


async def serve(bodies: dict[str, bytes]) -> None:
    listener = socket.create_server(("127.0.0.1", 0), backlog=1024)
    config = uvicorn.Config(bare_app(bodies), http="httptools", access_log=False, log_config=None)
    server = uvicorn.Server(config)
    running = asyncio.create_task(server.serve(sockets=[listener]))
    print(json.dumps({"port": listener.getsockname()[1]}), flush=True)
    await asyncio.to_thread(sys.stdin.read)
    server.should_exit = True
    await running


def main() -> None:
    said: dict[str, str] = json.loads(Path(sys.argv[1]).read_bytes())
    bodies = {token: body.encode() for token, body in said.items()}
    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        runner.run(serve(bodies))


if __name__ == "__main__":
    main()
