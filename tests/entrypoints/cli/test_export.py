"""Exports: whole files or none, each record once, going on where the last one ended."""

import csv
import io
import json
import os
import signal
import subprocess
import sys
import tracemalloc
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq  # type: ignore[import-untyped]
import pytest
from warcio.archiveiterator import ArchiveIterator  # type: ignore[import-untyped]

from headwater.entrypoints.api_request import ApiRequest, ApiResponse
from headwater.entrypoints.cli import export_formats, export_sources
from headwater.entrypoints.cli.errors import ApiError
from headwater.entrypoints.cli.export_formats import (
    COLUMNS,
    CsvWriter,
    cell,
    csv_writer,
    ndjson_line,
    ndjson_writer,
)
from headwater.entrypoints.cli.export_parquet import ParquetEntryWriter
from headwater.entrypoints.cli.session import Api
from tests.entrypoints.cli.conftest import Done, Shell
from tests.support.service import (
    ATOM,
    HEADWATER,
    RSS,
    SECONDS,
    Origin,
    Service,
    environment,
    service,
)

HOSTILE = RSS.replace(b"First post", b"=HYPERLINK(&quot;x&quot;)\xe2\x80\xa8 2").replace(
    b"Second post", "+1 水\u0085".encode()
)


@pytest.fixture(scope="module")
def served(origin: Origin, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A service with three entries of two feeds, whose payloads are exported at once."""
    folder = tmp_path_factory.mktemp("exports")
    origin.pages["/hostile.xml"] = ("application/rss+xml", HOSTILE)
    env = environment(folder, origin, HEADWATER_EXPORT_HOLD_BACK_SEC="0")
    with service(env) as running:
        sh = Shell({"HEADWATER_DATA_DIR": str(folder), "NO_COLOR": "1", "COLUMNS": "160"})
        for path in ("/hostile.xml", "/atom.xml"):
            assert sh("add", origin.url(path)).code == 0
        yield running


def lines(text: str | bytes) -> list[Any]:
    plain = text.decode() if isinstance(text, bytes) else text
    return [json.loads(line) for line in plain.splitlines()]


def cursor_of(done: Done) -> str:
    (line,) = [line for line in done.err.splitlines() if line.startswith("cursor: ")]
    return line.removeprefix("cursor: ")


def test_entries_as_lines_on_stdout(sh: Shell) -> None:
    done = sh("export", "entries")
    assert done.code == 0, done.err
    found = lines(done.raw)
    assert sorted(entry["entry_uid"] for entry in found) == ["one", "two", "urn:a"]
    assert [entry["seq"] for entry in found] == sorted(entry["seq"] for entry in found)
    assert "3 entries." in done.err
    assert cursor_of(done).startswith("entries=")


def test_an_export_goes_on_where_the_last_one_ended(sh: Shell, tmp_path: Path) -> None:
    cursor = cursor_of(sh("export", "entries"))
    again = sh("export", "entries", "--since", cursor)
    assert (again.code, again.raw, cursor_of(again)) == (0, b"", cursor)
    bare = sh("export", "entries", "--since", "0")
    assert len(lines(bare.raw)) == 3
    file, out = tmp_path / "cursor", tmp_path / "entries.ndjson"
    first = sh("export", "entries", "--cursor-file", str(file), "--output", str(out))
    assert first.code == 0, first.err
    assert len(lines(out.read_bytes())) == 3
    assert file.read_text() == f"{cursor}\n"
    second = sh("export", "entries", "--cursor-file", str(file), "--output", str(out))
    assert (second.code, out.read_bytes()) == (0, b"")


def test_only_one_feed(sh: Shell) -> None:
    done = sh("export", "entries", "--feed", "Lake letters")
    assert [entry["entry_uid"] for entry in lines(done.raw)] == ["urn:a"]
    events = lines(sh("export", "events", "--feed", "Lake letters").raw)
    assert {event["feed_id"] for event in events} == {lines(done.raw)[0]["feed_id"]}


def test_entries_as_a_table_that_runs_nothing(sh: Shell, tmp_path: Path) -> None:
    out = tmp_path / "entries.csv"
    done = sh("export", "entries", "--output", str(out))
    assert done.code == 0, done.err
    rows = {row["entry_uid"]: row for row in csv.DictReader(io.StringIO(out.read_text("utf-8")))}
    assert rows["one"]["title"] == '\'=HYPERLINK("x")\u2028 2'
    assert rows["two"]["title"].startswith("'+1 水")
    assert json.loads(rows["one"]["categories"]) == ["water"]
    assert rows["one"]["published"] == "2026-03-01T12:00:00Z"


def test_entries_as_columns_with_real_lists(sh: Shell, tmp_path: Path) -> None:
    out = tmp_path / "entries.parquet"
    done = sh("export", "entries", "--output", str(out))
    assert done.code == 0, done.err
    rows = {row["entry_uid"]: row for row in pq.read_table(out).to_pylist()}
    assert rows["one"]["categories"] == ["water"]
    assert rows["one"]["title"].startswith('=HYPERLINK("x")')
    assert rows["one"]["published"].isoformat() == "2026-03-01T12:00:00+00:00"
    assert rows["one"]["raw_refs"][0]["fetch_id"]
    assert json.loads(rows["one"]["details"])["native_id"] == "one"
    empty = tmp_path / "none.parquet"
    assert sh("export", "entries", "--since", "10000", "-o", str(empty)).code == 1
    assert pq.read_table(empty).num_rows == 0


def test_a_table_on_stdout(sh: Shell) -> None:
    done = sh("export", "entries", "--format", "csv")
    assert done.code == 0, done.err
    assert len(list(csv.reader(io.StringIO(done.raw.decode(), newline="")))) == 4


def test_a_missing_extra_says_how_to_get_it(sh: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.delitem(sys.modules, "headwater.entrypoints.cli.export_parquet")
    done = sh("export", "entries", "--format", "parquet")
    assert done.code == 2
    assert "install Headwater's extra `parquet`" in done.err


def test_a_cursor_beyond_the_log_is_told_and_led_back(sh: Shell) -> None:
    end = cursor_of(sh("export", "entries"))
    done = sh("export", "entries", "--since", "10000")
    assert (done.code, done.raw) == (1, b"")
    assert "beyond the log" in done.err
    assert cursor_of(done) == end


@pytest.mark.parametrize("name", ["raw.warc", "raw.warc.gz"])
def test_payloads_as_a_web_archive(sh: Shell, tmp_path: Path, name: str) -> None:
    out = tmp_path / name
    done = sh("export", "raw", "--output", str(out))
    assert done.code == 0, done.err
    assert (out.read_bytes()[:2] == b"\x1f\x8b") == name.endswith(".gz")
    bodies, kinds = {}, []
    with out.open("rb") as file:
        for record in ArchiveIterator(file, check_digests="raise"):
            kinds.append(record.rec_type)
            body = record.raw_stream.read()
            assert record.digest_checker.passed is True
            if record.rec_type == "response":
                bodies[record.rec_headers["WARC-Target-URI"].rpartition("/")[2]] = body
                assert record.http_headers["Content-Length"] == str(len(body))
    assert kinds == ["warcinfo", "response", "request", "response", "request"]
    assert bodies == {"hostile.xml": HOSTILE, "atom.xml": ATOM}
    again = sh("export", "raw", "--since", cursor_of(done), "--no-gzip")
    assert again.code == 0, again.err
    assert b"WARC-Type: warcinfo" in again.raw
    assert b"WARC-Type: response" not in again.raw


def test_events_as_lines(sh: Shell) -> None:
    found = lines(sh("export", "events").raw)
    assert [event["seq"] for event in found] == list(range(1, len(found) + 1))
    assert {"new_entry", "subscription_created"} <= {event["type"] for event in found}


def test_all_of_it_in_one_folder(sh: Shell, tmp_path: Path) -> None:
    out, cursor = tmp_path / "a" / "b", tmp_path / "cursor"
    done = sh("export", "all", "-o", str(out), "--cursor-file", str(cursor), "--json")
    assert done.code == 0, done.err
    assert sorted(path.name for path in out.iterdir()) == [
        "entries.ndjson",
        "events.ndjson",
        "raw.warc.gz",
    ]
    counts = {each["what"]: each["count"] for each in done.json["exports"]}
    assert (counts["entries"], counts["raw"]) == (3, 2)
    assert cursor.read_text().strip() == done.json["cursor"]
    assert {part.partition("=")[0] for part in done.json["cursor"].split(",")} == {
        "entries",
        "events",
        "raw",
    }
    again = sh("export", "all", "-o", str(out), "--since", done.json["cursor"], "--json")
    assert [each["count"] for each in again.json["exports"]] == [0, 0, 0]
    assert again.json["cursor"] == done.json["cursor"]
    only = sh("export", "events", "--since", done.json["cursor"])
    assert (only.code, only.raw) == (0, b"")


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (("--since", "nonsense"), "not a cursor"),
        (("--since", "entries=-1"), "not a cursor"),
        (("--since", f"entries={2**63}"), "not a cursor"),
        (("--since", "raw=0197c1ef-aa10-7f3e-8a53-0d6f5c1f7d42"), "another export"),
        (("--since", "raw=x"), "not a cursor"),
        (("--json",), "name a file"),
        (("--output", "/nowhere/at/all.ndjson"), "cannot be written"),
        (("--output", "/"), "is a folder"),
    ],
)
def test_what_makes_no_sense_is_refused(sh: Shell, args: tuple[str, ...], words: str) -> None:
    done = sh("export", "entries", *args)
    assert done.code == 2, done.err
    assert words in done.err + done.out


def test_a_failed_export_leaves_the_old_file_and_nothing_beside_it(
    sh: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, cursor = tmp_path / "raw.warc", tmp_path / "cursor"
    out.write_text("old")
    monkeypatch.setattr(Api, "ask", _broken_after(2, Api.ask))
    with pytest.raises(RuntimeError, match="cut off"):
        sh("export", "raw", "-o", str(out), "--cursor-file", str(cursor))
    assert out.read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["raw.warc"]


def test_an_interrupted_export_leaves_the_old_file_and_says_so(
    sh: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "raw.warc"
    out.write_text("old")
    monkeypatch.setattr(Api, "ask", _broken_after(2, Api.ask, KeyboardInterrupt()))
    done = sh("export", "raw", "-o", str(out))
    assert done.code == 130
    assert f"nothing was written, {out} is as it was" in done.err.replace("\n", " ")
    assert [path.name for path in tmp_path.iterdir()] == ["raw.warc"]


def _broken_after(times: int, ask: Any, trouble: BaseException | None = None) -> Any:
    left = [times]

    def asked(self: Api, request: ApiRequest) -> ApiResponse:
        left[0] -= 1
        if left[0] < 0:
            raise trouble or RuntimeError("cut off")
        reply: ApiResponse = ask(self, request)
        return reply

    return asked


def test_a_polite_end_tidies_up_too(tmp_path: Path) -> None:
    """SIGTERM in the middle, in a process of its own."""
    script = (
        "import sys, time\n"
        "from headwater.entrypoints.cli.export_formats import open_whole_file as made_whole\n"
        "with made_whole(sys.argv[1], print) as file:\n"
        "    file.write(b'half'); file.flush(); print('ready', flush=True); time.sleep(60)\n"
    )
    out = tmp_path / "entries.ndjson"
    out.write_text("old")
    running = subprocess.Popen(
        [HEADWATER[0], "-c", script, str(out)], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert running.stdout is not None
    assert running.stdout.readline() == b"ready\n"
    running.send_signal(signal.SIGTERM)
    said, _ = running.communicate(timeout=SECONDS)
    assert b"is as it was" in said
    assert running.returncode != 0
    assert [path.name for path in tmp_path.iterdir()] == ["entries.ndjson"]
    assert out.read_text() == "old"


def test_a_device_is_written_to_and_never_replaced(sh: Shell, tmp_path: Path) -> None:
    assert sh("export", "entries", "-o", os.devnull).code == 0
    assert Path(os.devnull).is_char_device()


def test_a_link_keeps_leading_to_its_file(tmp_path: Path) -> None:
    real, link = tmp_path / "real", tmp_path / "link"
    real.write_text("old")
    link.symlink_to(real)
    with export_formats.open_whole_file(str(link), print) as file:
        file.write(b"new")
    assert link.is_symlink()
    assert real.read_text() == "new"


def test_who_may_read_the_file_stays_as_it_was(tmp_path: Path) -> None:
    """Private feeds are exported too: tomorrow's file is as private as today's."""
    path = tmp_path / "entries.ndjson"
    path.write_text("old")
    path.chmod(0o600)
    with export_formats.open_whole_file(str(path), print) as file:
        (part,) = tmp_path.glob(".*.part")
        assert part.stat().st_mode & 0o777 == 0o600
        file.write(b"new")
    assert (path.read_text(), path.stat().st_mode & 0o777) == ("new", 0o600)


def test_payloads_that_are_gone_or_damaged_are_counted(
    sh: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Retention may come between the list and the bytes; damage is told and ends with 1."""
    real = Api.ask
    codes = iter(["raw_expired", "blob_damaged"])

    def asked(self: Api, request: ApiRequest) -> ApiResponse:
        if not request.path.startswith("/raw/"):
            return real(self, request)
        raise ApiError(410, {"error": next(codes), "message": "It changed."})

    monkeypatch.setattr(Api, "ask", asked)
    done = sh("export", "raw", "-o", str(tmp_path / "raw.warc"))
    assert done.code == 1
    assert "1 payload left out: let go by retention." in done.err
    assert "is left out: It changed." in done.err
    assert "0 raw fetches" in done.err


def test_a_service_that_asks_to_wait_is_waited_for(
    sh: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, slept = Api.ask, list[float]()
    refusals = [ApiError(429, {"error": "rate_limited", "message": "x", "retry_after_sec": 2.5})]

    def asked(self: Api, request: ApiRequest) -> ApiResponse:
        if refusals:
            raise refusals.pop()
        return real(self, request)

    monkeypatch.setattr(Api, "ask", asked)
    monkeypatch.setattr("headwater.entrypoints.cli.session.time.sleep", slept.append)
    assert len(lines(sh("export", "entries").raw)) == 3
    assert slept == [2.5]


def test_one_line_whatever_is_in_it() -> None:
    line = ndjson_line({"title": "a\nb\r\u2028\u2029\u0085\x0b\x1c\x00", "it's": "\ud7ff"})
    assert line.count(b"\n") == 1
    assert len(line.decode().splitlines()) == 1
    assert json.loads(line)["title"] == "a\nb\r\u2028\u2029\u0085\x0b\x1c\x00"


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("=1+1", "'=1+1"),
        ("+1", "'+1"),
        ("-1", "'-1"),
        ("@SUM(A1)", "'@SUM(A1)"),
        ("\t=1", "'\t=1"),
        ("\r=1", "'\r=1"),
        ("\n=1", "'\n=1"),
        ("plain", "plain"),
        ("'quoted", "'quoted"),
        ("", ""),
        (None, ""),
        (-1, "-1"),
        (["=1"], '["=1"]'),
        ({}, "{}"),
    ],
)
def test_a_cell_is_never_a_formula(value: Any, shown: str) -> None:
    assert cell(value) == shown


def test_a_table_is_read_back_cell_by_cell() -> None:
    file = io.BytesIO()
    with CsvWriter(file) as rows:
        rows.write([{"seq": 1, "title": 'a "b"\r\n,c', "categories": ["x,y"], "content": None}])
    (row,) = csv.DictReader(io.StringIO(file.getvalue().decode(), newline=""))
    assert (row["seq"], row["title"], row["categories"]) == ("1", 'a "b"\r\n,c', '["x,y"]')


@dataclass
class LongService:
    """Answers with pages of large entries, made as they are asked for."""

    pages: int
    is_service = True
    where = "http://127.0.0.1:1"

    def ask(self, request: ApiRequest) -> ApiResponse:
        after = int(request.query["after"] or 0)
        entry = dict.fromkeys(COLUMNS) | {
            "first_seen": "2026-01-05T12:00:00Z",
            "content": "x" * 20_000,
            "details": {},
            "version": 1,
        }
        page = {
            "entries": [entry | {"seq": after + n} for n in range(1, 51)],
            "until": 50 * self.pages,
            "next": after + 50,
            "unreadable": 0,
        }
        return ApiResponse(200, {}, json.dumps(page).encode())

    def close(self) -> None:
        raise AssertionError("nobody opened it")


def _peak(make: Any, pages: int, out: Path) -> int:
    patient = export_sources.PatientApi(Api(LongService(pages)))
    tracemalloc.start()
    try:
        with out.open("wb") as file, make(file, patient) as rows:
            for each in export_sources.read_batches("entries", patient, None, None):
                rows.write(each.records)
        assert rows.count == 50 * pages
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("make", [ndjson_writer, csv_writer, ParquetEntryWriter])
def test_a_long_export_needs_no_more_memory_than_a_short_one(make: Any, tmp_path: Path) -> None:
    """A megabyte a page: two pages' worth more or less is no growth, thirty would be."""
    short, long = _peak(make, 5, tmp_path / "out"), _peak(make, 35, tmp_path / "out")
    assert long < short + 2_000_000


def test_without_a_service_on_either_database(
    database_url: str, origin: Origin, tmp_path: Path
) -> None:
    """The same commands, the same answers, in this process."""
    alone = Shell(
        {
            "HEADWATER_DATA_DIR": str(tmp_path / "data"),
            "HEADWATER_ALLOW_ADDRESSES": f"127.0.0.1:{origin.port}",
            "HEADWATER_EXPORT_HOLD_BACK_SEC": "0",
            "DATABASE_URL": database_url,
            "NO_COLOR": "1",
        }
    )
    added = alone("add", origin.url("/feed.xml"))
    assert added.code == 0, added.err
    out = tmp_path / "out"
    done = alone("export", "all", "-o", str(out), "--json")
    assert done.code == 0, done.err
    counts = {each["what"]: each["count"] for each in done.json["exports"]}
    assert (counts["entries"], counts["raw"]) == (2, 1)
    assert [e["entry_uid"] for e in lines((out / "entries.ndjson").read_bytes())] == ["one", "two"]
    with (out / "raw.warc.gz").open("rb") as file:
        kinds = [record.rec_type for record in ArchiveIterator(file, check_digests="raise")]
    assert kinds == ["warcinfo", "response", "request"]


def test_while_everything_is_young_it_says_so_and_the_next_run_begins_at_the_beginning(
    origin: Origin, tmp_path: Path
) -> None:
    """A cursor file that holds nothing yet, of ours or made with touch, is no cursor."""
    alone = Shell(
        {
            "HEADWATER_DATA_DIR": str(tmp_path / "data"),
            "HEADWATER_ALLOW_ADDRESSES": f"127.0.0.1:{origin.port}",
            "NO_COLOR": "1",
        }
    )
    assert alone("add", origin.url("/feed.xml")).code == 0
    wish = ("export", "raw", "-o", str(tmp_path / "a.warc"), "--cursor-file", str(tmp_path / "c"))
    first = alone(*wish)
    assert first.code == 0, first.err
    assert first.err.startswith("0 raw fetches written to")
    assert "are left for the next export" in first.err
    assert "cursor:" not in first.err
    second = alone(*wish)
    assert second.code == 0, second.err
    (tmp_path / "c").write_text("\n")
    assert alone(*wish).code == 0
    alone.env["HEADWATER_EXPORT_HOLD_BACK_SEC"] = "0"
    third = alone(*wish)
    assert third.err.startswith("1 raw fetch written to")
    assert (tmp_path / "c").read_text().strip() == cursor_of(third)
