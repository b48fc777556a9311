"""`python -m bench.events`: readers of the event stream beside a service at work."""

import argparse
import json
import os
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from bench.bars import Bar
from bench.events.service import Running, running, settled, speaking, surroundings
from bench.poll.contenders import ROOT, Failed, make_due
from bench.poll.documents import Shape
from bench.poll.publishers import HARDEST, publishers

EVENTS_PER_SECOND = 5_000.0
MOST_MEGABYTES = 150.0
LONGEST = 300.0


@dataclass(frozen=True, slots=True)
class Read:
    """One reading of the whole log. `visits` were committed meanwhile."""

    what: str
    events: int
    seconds: float
    cpu: float
    visits: int

    @property
    def per_second(self) -> float:
        return self.events / self.seconds


@dataclass(frozen=True, slots=True)
class Crowd:
    readers: int
    before_mb: float
    after_mb: float
    connected: float
    told: float


def arguments() -> argparse.Namespace:
    words = argparse.ArgumentParser(prog="bench.events", description=__doc__)
    words.add_argument("--feeds", type=int, default=1_000)
    words.add_argument("--items", type=int, default=300, help="new entries in each feed")
    words.add_argument("--readers", type=int, default=1_000, help="readers with nothing to read")
    words.add_argument("--seed", type=int, default=1)
    words.add_argument("--port", type=int, help="of the feeds; default: one that is allowed")
    words.add_argument("--only", choices=("log", "crowd"), help="leave the other part out")
    words.add_argument("--json", action="store_true", help="figures for programs")
    words.add_argument("--check", action="store_true", help="fail when a bar is missed")
    return words.parse_args()


def main() -> int:
    given = arguments()
    try:
        reads = [] if given.only == "crowd" else read_log(given)
        crowd = None if given.only == "log" else idle_crowd(given.readers)
    except Failed as trouble:
        print(f"bench.events: {trouble}", file=sys.stderr)
        return 2
    held = bars(reads, crowd)
    if given.json:
        print(json.dumps(_as_json(reads, crowd, held), indent=2))
    else:
        _tell(reads, crowd, held)
    return 1 if given.check and not all(bar.is_met for bar in held) else 0


def read_log(given: argparse.Namespace) -> list[Read]:
    """Twice: while the worker's first visits write it, and again while feeds are visited anew.

    The first reader comes when half of the log is written: it has to catch up, then to keep up.
    """
    size = given.items * 400
    shape = Shape(given.feeds, given.items, size, size, given.seed)
    with publishers(shape, given.port, HARDEST) as origin, _folder(origin.port) as (folder, env):
        follow = [sys.executable, "-m", "bench.poll.river", "follow"]
        subprocess.run([*follow, str(origin.port), str(given.feeds)], cwd=ROOT, env=env, check=True)
        os.sync()
        with running(folder, env) as service:
            _until_told(folder, shape.feeds * shape.items // 2)
            live = _read("half behind, then as visits write it", service, folder, shape)
            make_due(folder / "headwater.db")
            again = _read("again, while feeds are visited anew", service, folder, shape)
        return [live, again]


def _read(what: str, service: Running, folder: Path, shape: Shape) -> Read:
    count, before = shape.feeds * shape.items, _visits(folder)
    with speaking("bench.events.reader", service.url, str(count)) as reader:
        reader.said()
        said = reader.said()
    return Read(what, said["events"], said["seconds"], said["cpu"], _visits(folder) - before)


def idle_crowd(readers: int) -> Crowd:
    with _folder(None) as (folder, env), running(folder, env) as service:
        host, port = service.place
        words = ("bench.events.crowd", host, str(port))
        with speaking(*words, "1") as first:  # whatever is made for the first one is made now
            first.said()
            before = settled(service)
        with speaking(*words, str(readers)) as crowd:
            connected = crowd.said()["connected"]
            after = settled(service)
            crowd.tell()
            service.follow("https://feeds.example/one.xml")
            told = crowd.said()["told"]
            after = max(after, settled(service))
        return Crowd(readers, before, after, connected, told)


@contextmanager
def _folder(port: int | None) -> Iterator[tuple[Path, dict[str, str]]]:
    with tempfile.TemporaryDirectory(prefix="bench-events-") as name:
        yield Path(name), surroundings(Path(name), port or 8080)


def _visits(folder: Path) -> int:
    return _number(folder, "SELECT count(*) FROM visits")


def _until_told(folder: Path, events: int) -> None:
    began = time.monotonic()
    while _number(folder, "SELECT value FROM counters WHERE name = 'events'") < events:
        if time.monotonic() - began > LONGEST:
            raise Failed(f"the worker did not bring {events:,} events in {LONGEST:.0f} s")
        time.sleep(0.05)


def _number(folder: Path, sql: str) -> int:
    database = sqlite3.connect(folder / "headwater.db")
    try:
        (number,) = database.execute(sql).fetchone()
        return int(number)
    finally:
        database.close()


def bars(reads: list[Read], crowd: Crowd | None) -> list[Bar]:
    found = [
        Bar(f"events a second, {each.what}", each.per_second, EVENTS_PER_SECOND) for each in reads
    ]
    if crowd is not None:
        grown = crowd.after_mb - crowd.before_mb
        what = f"MB of memory for {crowd.readers:,} readers with nothing to read"
        found.append(Bar(what, grown, MOST_MEGABYTES, at_most=True))
    return found


def _as_json(reads: list[Read], crowd: Crowd | None, held: list[Bar]) -> dict[str, object]:
    return {
        "reads": [asdict(each) for each in reads],
        "crowd": None if crowd is None else asdict(crowd),
        "bars": [{**asdict(bar), "is_met": bar.is_met} for bar in held],
    }


def _tell(reads: list[Read], crowd: Crowd | None, held: list[Bar]) -> None:
    for each in reads:
        print(
            f"One reader in another process, {each.what}: {each.events:,} events in"
            f" {each.seconds:.1f} s, every number checked; {each.visits:,} visits were committed"
            f" meanwhile. The reader took {each.cpu:.1f} s of CPU."
        )
    if crowd is not None:
        print(
            f"{crowd.readers:,} readers connected in {crowd.connected:.1f} s; the service grew from"
            f" {crowd.before_mb:.0f} to {crowd.after_mb:.0f} MB. One new event reached all of them"
            f" in {crowd.told:.2f} s."
        )
    print("\n" + "\n".join(bar.in_words for bar in held))


if __name__ == "__main__":
    sys.exit(main())
