"""`python -m tests.fuzz.run`: workers that feed the parser, and a watchdog over them."""

import argparse
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

from tests.fuzz.target import examine
from tests.fuzz.worker import Slate, save

ROOT = Path(__file__).parents[2]
FINDINGS = Path(tempfile.gettempdir()) / "headwater-fuzz"
LOOK_EVERY = 0.5


@dataclass(slots=True)
class Watched:
    """A worker as the watchdog sees it, through all its lives."""

    number: int
    runs: int
    slate_path: Path
    process: subprocess.Popen[bytes] | None = None
    done_before: int = 0
    entries_before: int = 0
    findings_before: int = 0
    last: int = -1
    moved_at: float = field(default_factory=time.monotonic)

    @property
    def slate(self) -> Slate:
        return Slate(self.slate_path)

    def counts(self) -> tuple[int, int, int]:
        executions, entries, findings, _ = self.slate.read()
        return (
            self.done_before + executions,
            self.entries_before + entries,
            self.findings_before + findings,
        )


def arguments() -> argparse.Namespace:
    words = argparse.ArgumentParser(prog="tests.fuzz.run", description=__doc__)
    words.add_argument("--runs", type=int, default=200_000, help="executions, all workers together")
    words.add_argument("--workers", type=int, default=1)
    words.add_argument("--after", type=int, default=0, help="go on after so many executions")
    words.add_argument("--batch", type=int, default=250_000, help="executions of one process")
    words.add_argument("--seed", default="1", help="the same seed makes the same documents")
    words.add_argument("--findings", type=Path, default=FINDINGS)
    words.add_argument("--hang", type=float, default=20.0, help="seconds for one document")
    words.add_argument("--megabytes", type=int, default=1_024, help="address space of a worker")
    words.add_argument("--every", type=float, default=10.0, help="seconds between lines")
    words.add_argument(
        "--worker", help="another program in place of the worker, to try the watchdog"
    )
    words.add_argument("--again", type=Path, nargs="+", help="examine these files and nothing else")
    return words.parse_args()


def main() -> int:
    given = arguments()
    if given.again:
        return max([again(path) for path in given.again])
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # and the workers end with us
    with tempfile.TemporaryDirectory(prefix="fuzz-") as name:
        workers = [
            Watched(
                number,
                given.runs // given.workers,
                Path(name) / f"slate-{number}",
                done_before=given.after // given.workers,
            )
            for number in range(given.workers)
        ]
        try:
            findings = watch(workers, given)
        finally:
            for worker in workers:
                if worker.process is not None:
                    worker.process.kill()
                    worker.process.wait()
            _tell_how_to_go_on(workers, given)
    if findings:
        _say(f"{findings} findings, the first of each kind in {given.findings}")
    return 1 if findings else 0


def again(path: Path) -> int:
    """A saved input once more: 1 when it still finds something."""
    try:
        document = examine(path.read_bytes())
    except Exception as trouble:  # noqa: BLE001  whatever it is, it is told
        _say(f"{path.name}: {type(trouble).__name__}: {trouble}")
        return 1
    _say(f"{path.name}: {document.format}, {len(document.entries)} entries, nothing to report")
    return 0


def watch(workers: list[Watched], given: argparse.Namespace) -> int:
    """Until every worker has done its part; the number of findings."""
    running = [worker for worker in workers if worker.done_before < worker.runs]
    for worker in running:
        _start(worker, given)
    began = told = time.monotonic()
    while running:
        time.sleep(LOOK_EVERY)
        running = [worker for worker in running if _is_going_on(worker, given)]
        if time.monotonic() - told >= given.every or not running:
            told = time.monotonic()
            _tell(workers, told - began, given.after)
    return sum(worker.counts()[2] for worker in workers)


def _start(worker: Watched, given: argparse.Namespace) -> None:
    """A fresh process for the next batch; what it makes depends on the seed and the count alone."""
    worker.slate_path.unlink(missing_ok=True)
    left = min(given.batch, worker.runs - worker.done_before)
    seed = f"{given.seed}:{worker.number}:{worker.done_before}"
    program = [given.worker] if given.worker else ["-m", "tests.fuzz.worker"]
    command = [sys.executable, *program, str(worker.slate_path)]
    command += [str(given.findings), seed, str(left), str(given.megabytes)]
    Slate(worker.slate_path)
    worker.last, worker.moved_at = -1, time.monotonic()
    worker.process = subprocess.Popen(command, cwd=ROOT)


def _is_going_on(worker: Watched, given: argparse.Namespace) -> bool:
    """False when it has done its part; a dead or hanging one is replaced, and its input saved."""
    assert worker.process is not None
    code = worker.process.poll()
    executions, entries, findings, body = worker.slate.read()
    if code == 0:
        return _goes_on_after(worker, given, executions, entries, findings)
    if code is not None:
        save(given.findings, body, f"died-{abs(code)}", f"The worker ended with {code}.\n")
    elif executions != worker.last:
        worker.last, worker.moved_at = executions, time.monotonic()
        return True
    elif time.monotonic() - worker.moved_at < given.hang:
        return True
    else:
        worker.process.kill()
        worker.process.wait()
        save(given.findings, body, "hang", f"No answer within {given.hang} s.\n")
    return _goes_on_after(worker, given, executions + 1, entries, findings + 1)


def _goes_on_after(
    worker: Watched, given: argparse.Namespace, executions: int, entries: int, findings: int
) -> bool:
    """Counts what a process did, and starts the next when there is more to do."""
    worker.slate_path.unlink()
    worker.done_before += executions
    worker.entries_before += entries
    worker.findings_before += findings
    if worker.done_before >= worker.runs:
        return False
    _start(worker, given)
    return True


def _tell(workers: list[Watched], seconds: float, after: int) -> None:
    executions, entries, findings = _totals(workers)
    _say(
        f"{executions:>12,} executions  {(executions - after) / seconds:8,.0f}/s"
        f"  {entries:>12,} entries  {findings:,} findings  {seconds:,.0f} s"
    )


def _tell_how_to_go_on(workers: list[Watched], given: argparse.Namespace) -> None:
    """For whoever stopped it: the next run makes other documents than this one did."""
    done = _totals(workers)[0]
    if done < given.runs // given.workers * given.workers:
        _say(f"Stopped. Go on with --seed {given.seed} --after {done}")


def _totals(workers: list[Watched]) -> tuple[int, int, int]:
    executions, entries, findings = map(sum, zip(*(one.counts() for one in workers), strict=True))
    return executions, entries, findings


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
