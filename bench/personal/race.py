"""Served feeds beside a bare route: the same bytes, the same tokens, turn by turn."""

import http.client
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Literal

from bench.events.service import Speaker, speaking
from bench.personal.place import Place, peer, served
from bench.personal.stock import Stock
from bench.poll.contenders import Failed

Runner = Literal["bare", "unchanged", "whole", "zipped"]
RUNNERS: tuple[Runner, ...] = ("bare", "unchanged", "whole", "zipped")
STATUS: dict[Runner, int] = {"bare": 200, "unchanged": 304, "whole": 200, "zipped": 200}


@dataclass(slots=True)
class Raced:
    """Answers a second, for each round."""

    body_bytes: int
    rates: dict[Runner, list[float]] = field(default_factory=lambda: {name: [] for name in RUNNERS})

    def ratio(self, runner: Runner) -> float:
        """The median of what each round's pair gives."""
        pairs = zip(self.rates[runner], self.rates["bare"], strict=True)
        return median(ours / bare for ours, bare in pairs)


def race(place: Place, stock: Stock, *, rounds: int, seconds: float, connections: int) -> Raced:
    with served(place) as port:
        first = {token: _asked(port, token) for token in stock.tokens}
        bodies = place.folder / "bodies"
        said = {token: body.decode() for token, (_, body) in first.items()}
        bodies.write_text(json.dumps(said))
        with peer(bodies) as bare, speaking("bench.personal.crowd", str(connections)) as crowd:
            ports = {name: bare if name == "bare" else port for name in RUNNERS}
            runs = {name: _run(place.folder, name, ports[name], first) for name in RUNNERS}
            raced = Raced(sum(len(body) for _, body in first.values()) // len(first))
            for name in RUNNERS:  # warm
                _ran(crowd, runs[name], 0.5)
            for number in range(rounds):
                turn = RUNNERS if number % 2 == 0 else tuple(reversed(RUNNERS))
                for name in turn:
                    raced.rates[name].append(_ran(crowd, runs[name], seconds))
    return raced


@contextmanager
def _connection(port: int) -> Iterator[http.client.HTTPConnection]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        yield connection
    finally:
        connection.close()


def _asked(port: int, token: str) -> tuple[str, bytes]:
    """The tag and the bytes of one reader's feed."""
    with _connection(port) as connection:
        connection.request("GET", f"/rss?token={token}")
        answer = connection.getresponse()
        body = answer.read()
        if answer.status != 200 or body.count(b"<item>") != 50:
            raise Failed(f"a feed of 50 items was due, but: {answer.status} {body[:200]!r}")
        return answer.headers["etag"], body


def _run(
    folder: Path, name: Runner, port: int, first: dict[str, tuple[str, bytes]]
) -> dict[str, object]:
    file = folder / f"requests-{name}"
    requests = [_request(name, port, token, tag) for token, (tag, _) in first.items()]
    file.write_text(json.dumps(requests))
    return {"port": port, "status": STATUS[name], "file": str(file)}


def _request(name: Runner, port: int, token: str, tag: str) -> str:
    """As a feed reader says it."""
    more = {"unchanged": f"If-None-Match: {tag}\r\n", "zipped": "Accept-Encoding: gzip\r\n"}
    return (
        f"GET /rss?token={token} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n"
        f"User-Agent: bench\r\nAccept: */*\r\n{more.get(name, '')}\r\n"
    )


def _ran(crowd: Speaker, run: dict[str, object], seconds: float) -> float:
    assert crowd.process.stdin is not None
    crowd.process.stdin.write(json.dumps(run | {"seconds": seconds}) + "\n")
    crowd.process.stdin.flush()
    said = crowd.said()
    return float(said["answered"] / said["seconds"])
