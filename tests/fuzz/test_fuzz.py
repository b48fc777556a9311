"""The fuzzer can find something: planted faults are noticed, by the checks and by the watchdog."""

import os
import random
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from headwater.parse import Document, Entry, Problem, accelerator, parse
from tests.fuzz.mutate import LONGEST, SWOLLEN, Mutator, pieces_of
from tests.fuzz.target import KNOWN_PROBLEMS, Broken, check_texts, examine
from tests.fuzz.worker import CORPUS, Slate, behaviour_of, seeds

ROOT = Path(__file__).parents[2]
FEED = b"<rss><channel><title>t</title><item><title>a</title></item></channel></rss>"
PARSED = parse(FEED)


@pytest.mark.parametrize("path", sorted(CORPUS.iterdir()), ids=lambda path: path.name)
def test_every_document_of_the_corpus_holds(path: Path) -> None:
    examine(path.read_bytes())


def test_the_corpus_has_every_kind_and_every_breakage() -> None:
    documents = [parse(body, url="https://example.org/") for body in seeds()]
    assert {document.format for document in documents} == {"rss", "atom", "json", "unknown"}
    assert {document.version for document in documents} >= {"0.91", "1.0", "2.0", "0.3", "1.1"}
    told = {problem.code for document in documents for problem in document.problems}
    assert told >= {
        "not_a_feed", "partial", "not_well_formed", "tags_repaired", "entities_repaired",
        "entities_refused", "doctype_dropped", "junk_before", "control_characters",
        "encoded_twice", "encoding_override", "encoding_unknown", "json_repaired", "bad_json",
        "link_dropped", "skip_hours",
    }  # fmt: skip


def test_the_known_problems_are_those_of_the_parsers_page() -> None:
    page = (ROOT / "docs" / "parser.md").read_text("utf-8")
    assert sorted(code for code in KNOWN_PROBLEMS if f"`{code}`" not in page) == []


def test_mutations_are_many_bounded_and_the_same_for_the_same_luck() -> None:
    one, other = (Mutator(seeds(), random.Random(7)) for _ in range(2))
    made = [one.next() for _ in range(500)]
    assert made == [other.next() for _ in range(500)]
    assert len(set(made)) > 480
    assert max(map(len, made)) <= (LONGEST + SWOLLEN) * 4 + 100
    assert any(re.search(rb"(\d)\1{4300}", document) for document in made)


def test_pieces_joined_again_are_the_document() -> None:
    for body in seeds():
        assert b"".join(pieces_of(body)) == body


def test_mutated_documents_hold() -> None:
    mutator = Mutator(seeds(), random.Random(11))
    seen = set()
    for _ in range(400):
        seen.add(behaviour_of(examine(mutator.next(), thorough=False)))
    assert len(seen) > 100


def test_two_ways_that_differ_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def lifted(document: bytes, *_: int) -> tuple[bytes, dict[str, str], list[tuple[int, int]]]:
        return document.replace(b"<title>a", b"<title>b"), {}, []

    monkeypatch.setattr(accelerator, "COMPILED", accelerator.PLAIN._replace(lifted=lifted))
    with pytest.raises(Broken, match="two ways"):
        examine(FEED)


class Planted:
    """A parser with a fault."""

    def __init__(self, *answers: Document) -> None:
        self._answers = iter(answers)

    def __call__(self, body: bytes, **options: Any) -> Document:
        return next(self._answers)


def _nothing(body: bytes, fragment: Any, **options: Any) -> Entry | None:
    return None


def test_two_answers_to_one_document_are_noticed() -> None:
    other = replace(PARSED, encoding="latin-1")
    with pytest.raises(Broken, match="two different documents"):
        examine(FEED, parser=Planted(PARSED, other))


def test_too_many_entries_are_noticed() -> None:
    flood = replace(PARSED, entries=PARSED.entries * 100)
    with pytest.raises(Broken, match="100 entries out of 75 bytes"):
        examine(FEED, parser=Planted(flood))


def test_a_problem_nobody_knows_is_noticed() -> None:
    told = replace(PARSED, problems=(Problem("surprise", "x"),))
    with pytest.raises(Broken, match="unknown problem code 'surprise'"):
        examine(FEED, parser=Planted(told))


def test_a_link_that_must_not_be_followed_is_noticed() -> None:
    bad = replace(PARSED, entries=(replace(PARSED.entries[0], link="javascript:x"),))
    with pytest.raises(Broken, match="no web address"):
        examine(FEED, parser=Planted(bad))


def test_a_fragment_that_reads_otherwise_is_noticed() -> None:
    with pytest.raises(Broken, match="a fragment reads as nothing"):
        examine(FEED, fragment_parser=_nothing)


def test_control_characters_and_floods_of_text_are_noticed() -> None:
    with pytest.raises(Broken, match="the character"):
        check_texts(replace(PARSED, feed=replace(PARSED.feed, generator="a\x7fb")), 1_000)
    with pytest.raises(Broken, match="characters out of 10 bytes"):
        check_texts(replace(PARSED, feed=replace(PARSED.feed, generator="a" * 90_000)), 10)


def test_time_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    wall, cpu = iter([0.0, 7.0]), iter([0.0, 5.0])
    monkeypatch.setattr("tests.fuzz.target.perf_counter", lambda: next(wall))
    monkeypatch.setattr("tests.fuzz.target.process_time", lambda: next(cpu))
    with pytest.raises(Broken, match="slow: 5"):
        examine(FEED)


def test_a_slow_machine_is_no_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    wall = iter([0.0, 7.0])
    monkeypatch.setattr("tests.fuzz.target.perf_counter", lambda: next(wall))
    examine(FEED)


def test_a_slate_outlives_its_writer(tmp_path: Path) -> None:
    Slate(tmp_path / "slate").write(3, 2, 1, b"<rss>")
    assert Slate(tmp_path / "slate").read() == (3, 2, 1, b"<rss>")


PLANTED = """
import sys, time, os
from pathlib import Path
from tests.fuzz.worker import Slate
slate = Slate(Path(sys.argv[1]))
slate.write(4, 0, 0, b"the culprit")
{fault}
"""


@pytest.mark.parametrize(
    ("fault", "kind"), [("time.sleep(60)", "hang"), ("os.abort()", "died-6")], ids=["hang", "crash"]
)
def test_a_worker_that_hangs_or_dies_leaves_its_input(
    tmp_path: Path, fault: str, kind: str
) -> None:
    """The watchdog runs with a worker whose work is the fault itself."""
    planted = tmp_path / "planted.py"
    planted.write_text(PLANTED.format(fault=fault))
    command = [sys.executable, "-m", "tests.fuzz.run", "--runs", "5", "--hang", "1.5"]
    command += ["--findings", str(tmp_path / "found"), "--worker", str(planted)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, timeout=60, check=False
    )
    assert done.returncode == 1, done.stderr
    (saved,) = (tmp_path / "found").glob("*.bin")
    assert saved.name.startswith(kind)
    assert saved.read_bytes() == b"the culprit"


def _run(folder: Path, *words: str) -> str:
    command = [sys.executable, "-m", "tests.fuzz.run", "--findings", str(folder / "found"), *words]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, timeout=120, check=True
    )
    return done.stdout.decode()


def test_batches_add_up_to_the_runs_asked_for(tmp_path: Path) -> None:
    told = _run(tmp_path, "--runs", "350", "--batch", "150")
    assert told.splitlines()[-1].split()[:2] == ["350", "executions"]


def test_a_run_goes_on_where_another_stopped(tmp_path: Path) -> None:
    told = _run(tmp_path, "--runs", "450", "--after", "300")
    assert told.splitlines()[-1].split()[:2] == ["450", "executions"]


def test_there_is_nothing_to_do_after_the_last_run(tmp_path: Path) -> None:
    assert _run(tmp_path, "--runs", "300", "--after", "300") == ""
