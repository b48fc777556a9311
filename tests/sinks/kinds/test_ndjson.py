"""NDJSON files: every promise of a sink, and what a line and a folder look like."""

import heapq
import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.core.errors import BadInput
from headwater.sinks.kinds.ndjson import check_ndjson_options
from headwater.sinks.kinds.ndjson_files import encode_line, escape_line_breaks, parse_line_identity
from headwater.sinks.ports import DeliveryResult, SinkConfig
from tests.support.ndjson import NOON, lines_of, many, names_in, numbers, opened, told
from tests.support.sink_contract import SinkCase, SinkContract

ADDED = re.compile(rb'(?:,"entry":null)?(?:,"raw":\[\])?(?:,"replay":\d+)?\}\Z')


class NdjsonCase:
    def __init__(self, folder: Path, **options: Any) -> None:
        self.root = folder / "out" / "case"
        self.options = {"path": "case", **options}

    async def plan(self) -> SinkConfig:
        return SinkConfig("case", "ndjson", self.options, {})

    async def received(self) -> list[tuple[str, bytes]]:
        """Two files are two queues: whoever wants one of them merges them by number."""
        queues = [self._queue("entries"), self._queue("events")]
        merged = heapq.merge(*queues, key=lambda line: line[:2])
        return [(name, body) for _, _, name, body in merged]

    async def break_it(self) -> None:
        """Something else stands where the folder was."""
        self.root.parent.mkdir(parents=True, exist_ok=True)
        if self.root.exists():
            self.root.rename(self.root.with_name("aside"))
        self.root.write_bytes(b"")

    async def mend_it(self) -> None:
        self.root.unlink()
        if self.root.with_name("aside").exists():
            self.root.with_name("aside").rename(self.root)

    def _queue(self, series: str) -> list[tuple[int, int, str, bytes]]:
        found = []
        for line in lines_of(self.root, series):
            said = orjson.loads(line)
            body = ADDED.sub(b"}", line)
            found.append((said.get("replay", 0), said["seq"], said["id"], body))
        return found


class TestCompact(SinkContract):
    @pytest.fixture
    def case(self, tmp_path: Path) -> SinkCase:
        return NdjsonCase(tmp_path, entries="compact", raw=False)


class TestFull(SinkContract):
    @pytest.fixture
    def case(self, tmp_path: Path) -> SinkCase:
        return NdjsonCase(tmp_path)


class TestCompressed(SinkContract):
    @pytest.fixture
    def case(self, tmp_path: Path) -> SinkCase:
        return NdjsonCase(tmp_path, compress="zstd")


async def test_files_are_named_by_the_events_own_day(tmp_path: Path) -> None:
    moments = [
        datetime(2026, 1, 5, 23, 59, 59, 999_999, tzinfo=UTC),
        datetime(2026, 1, 6, tzinfo=UTC),
        datetime(1969, 12, 31, 23, 0, tzinfo=UTC),
    ]
    parcels = [told(n + 1, at=moment) for n, moment in enumerate(moments)]
    parcels += [told(4, "new_entry"), told(5, "updated_entry"), told(6, "subscription_created")]
    async with opened(tmp_path) as outlet:
        assert await outlet.deliver(parcels, replay=0) == DeliveryResult(6)
    shown = {
        name: numbers((tmp_path / name).read_bytes().splitlines())
        for name in names_in(tmp_path, "*/*.ndjson")
    }
    assert shown == {
        "events/1969-12-31.ndjson": [3],
        "events/2026-01-05.ndjson": [1, 6],
        "events/2026-01-06.ndjson": [2],
        "entries/2026-01-05.ndjson": [4, 5],
    }


async def test_a_line_is_the_event_as_it_is_sent_everywhere(tmp_path: Path) -> None:
    parcels = many(1, 3, payload={"text": "ä\n\r\t\0 {{x}}"})
    async with opened(tmp_path) as outlet:
        await outlet.deliver(parcels, replay=0)
    assert lines_of(tmp_path) == [parcel.body for parcel in parcels]


async def test_a_replay_is_written_after_what_is_there_and_says_so(tmp_path: Path) -> None:
    async with opened(tmp_path) as outlet:
        await outlet.deliver(many(1, 3), replay=0)
        await outlet.deliver(many(2, 3), replay=1)
        await outlet.deliver(many(2, 3), replay=1)
        await outlet.deliver(many(4, 4), replay=1)
    lines = [orjson.loads(line) for line in lines_of(tmp_path)]
    assert [(line["seq"], line.get("replay")) for line in lines] == [
        (1, None),
        (2, None),
        (3, None),
        (2, 1),
        (3, 1),
        (4, 1),
    ]


async def test_an_entry_that_is_gone_is_null(
    tmp_path: Path,
) -> None:
    async with opened(tmp_path, entries=True, raw=True) as outlet:
        await outlet.deliver([told(1, "new_entry"), told(2, "feed_gone")], replay=0)
    (entry,), (event,) = lines_of(tmp_path, "entries"), lines_of(tmp_path, "events")
    assert orjson.loads(entry)["entry"] is None
    assert orjson.loads(entry)["raw"] == []
    assert "entry" not in orjson.loads(event)
    assert "raw" not in orjson.loads(event)


@pytest.mark.parametrize(
    "refs",
    [
        None,
        7,
        [7],
        [{}],
        [{"fetch_id": None}],
        [{"fetch_id": "../../../etc/cron.d/x"}],
        [{"fetch_id": "01900000-0000-7000-8000-00000000000/"}],
        [{"fetch_id": "01900000-0000-7000-8000-000000000001\n"}],
    ],
)
async def test_only_a_uuid_becomes_the_name_of_a_file(tmp_path: Path, refs: Any) -> None:
    async with opened(tmp_path, raw=True) as outlet:
        receipt = await outlet.deliver([told(1, "new_entry", payload={"raw_refs": refs})], replay=0)
    assert receipt == DeliveryResult(1)
    assert names_in(tmp_path) == [".lock", ".unfinished", "entries"]


@given(st.text(), st.dictionaries(st.text(), st.text()))
def test_whatever_an_event_says_it_is_one_line(text: str, more: dict[str, str]) -> None:
    parcel = _parcel({"text": text, **more})
    line = escape_line_breaks(encode_line(parcel, orjson.dumps(_sound(text)), b"[]", 3))
    assert line.decode().splitlines(keepends=True) == [line.decode()]
    said = orjson.loads(line)
    assert said["payload"] == parcel.payload
    assert (said["entry"], said["raw"], said["replay"]) == (_sound(text), [], 3)
    assert parse_line_identity(line[:-1]) == (1, parcel.event_id, 3)


@pytest.mark.parametrize("mark", ["\u2028", "\u2029", "\x85", "\n", "\r", "\x0b", "\x0c", "\x1c"])
def test_no_reader_takes_a_line_for_two(mark: str) -> None:
    line = escape_line_breaks(encode_line(_parcel({"text": f"a{mark}b"}), None, None, 0))
    assert len(line.decode().splitlines()) == 1
    assert orjson.loads(line)["payload"]["text"] == f"a{mark}b"


def test_json_that_somebody_spread_over_lines_is_one_line_again() -> None:
    line = encode_line(_parcel({}), b'{"a":\r\n [1,\n2]}', None, 0)
    assert line.count(b"\n") == 1
    assert orjson.loads(line)["entry"] == {"a": [1, 2]}


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (b'{"seq":7,"id":"x-1","payload":{}}', (7, "x-1", 0)),
        (b'{"seq":7,"id":"x-1","payload":{},"replay":12}', (7, "x-1", 12)),
        (b'{"seq":7,"id":"x-1","payload":{"a":{},"replay":12}}', (7, "x-1", 0)),
        (b'{"seq":7,"id":"x-1","payload":{"a":",\\"replay\\":12}"}}', (7, "x-1", 0)),
        (b'{"seq":7,"id":"x-1","payload":{},"entry":null,"replay":2}', (7, "x-1", 2)),
        (b'{"seq":7,"id":"x-1","payload":{},"raw":[],"replay":2}', (7, "x-1", 2)),
        (b'{"id":"x-1","seq":7}', None),
        (b"hello", None),
        (b"", None),
    ],
)
def test_a_line_says_what_it_is(line: bytes, said: tuple[int, str, int] | None) -> None:
    assert parse_line_identity(line) == said


def test_what_is_not_said_has_a_default() -> None:
    options, secrets = check_ndjson_options({}, {})
    assert options == {"path": ".", "raw": True, "compress": "none", "entries": "full"}
    assert secrets == {}


def test_what_was_checked_is_not_changed_by_a_second_check() -> None:
    given = {"path": "a/b.c/", "raw": False, "compress": "zstd", "entries": "compact"}
    first = check_ndjson_options(given, {})
    assert first[0]["path"] == "a/b.c"
    assert check_ndjson_options(*first) == first


@pytest.mark.parametrize(
    "path",
    [
        "..",
        "../x",
        "a/../../x",
        "a/..",
        "./a",
        "/etc",
        "//x",
        "a//b",
        "~root",
        "C:\\x",
        "..\\x",
        "a\\b",
        ".hidden",
        "a/.hidden",
        "-rf",
        "a b",
        "%2e%2e",
        "a\x00b",
        "a\nb",
        "",
        " ",
        "x" * 201,
        7,
        True,
    ],
)
def test_a_path_stays_inside_the_folder_for_sinks(path: Any) -> None:
    with pytest.raises(BadInput) as refusal:
        check_ndjson_options({"path": path}, {})
    assert refusal.value.facts["field"] == "path"


@pytest.mark.parametrize(
    ("options", "secrets", "field"),
    [
        ({"raw": "yes"}, {}, "raw"),
        ({"compress": "gzip"}, {}, "compress"),
        ({"compress": True}, {}, "compress"),
        ({"entries": "all"}, {}, "entries"),
        ({"url": "https://a.example"}, {}, "url"),
        ({}, {"secret": "x"}, "secret"),
    ],
)
def test_what_cannot_work_is_refused_by_name(
    options: Mapping[str, Any], secrets: Mapping[str, str], field: str
) -> None:
    with pytest.raises(BadInput) as refusal:
        check_ndjson_options(options, secrets)
    assert refusal.value.facts["field"] == field


async def test_a_link_that_leads_out_is_not_followed(tmp_path: Path) -> None:
    inside, outside = tmp_path / "out", tmp_path / "elsewhere"
    inside.mkdir()
    outside.mkdir()
    (inside / "case").symlink_to(outside)
    async with opened(inside / "case", within=inside) as outlet:
        receipt = await outlet.deliver(many(1, 2), replay=0)
    assert (receipt.taken, receipt.trouble) == (0, "storage_error")
    assert names_in(outside) == []


def _parcel(payload: dict[str, str]) -> Any:
    sound = {_sound(name): _sound(value) for name, value in payload.items()}
    return told(1, "new_entry", NOON + timedelta(hours=1), sound)


def _sound(text: str) -> str:
    """Half characters cannot be stored, so no event has them."""
    return text.encode("utf-8", "replace").decode()
