"""NDJSON files after a crash: no torn line, nothing twice, nothing lost, whatever was cut."""

import asyncio
import errno
import os
import threading
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headwater.core.durable_files import Disk
from headwater.events.event_json import WireEvent
from headwater.sinks.kinds import ndjson_file_ends
from headwater.sinks.ports import DeliveryResult
from tests.support.ndjson import NOON, Coding, contents, lines_of, many, numbers, opened, told

CODINGS: tuple[Coding, ...] = ("none", "zstd")
DAY = "2026-01-05"


def file_of(root: Path, compress: Coding, series: str = "events", day: str = DAY) -> Path:
    return root / series / (f"{day}.ndjson" if compress == "none" else f"{day}.ndjson.zst")


async def deliver(
    root: Path, parcels: Sequence[WireEvent], compress: Coding = "none", replay: int = 0
) -> DeliveryResult:
    """By a process that lives only for this."""
    async with opened(root, compress=compress) as outlet:
        return await outlet.deliver(parcels, replay=replay)


@pytest.mark.parametrize("compress", CODINGS)
@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.data())
def test_wherever_a_batch_is_cut_the_file_is_whole_again(
    tmp_path_factory: pytest.TempPathFactory, compress: Coding, data: st.DataObject
) -> None:
    root = tmp_path_factory.mktemp("out")
    path = file_of(root, compress)

    async def crash_and_go_on() -> None:
        await deliver(root, many(1, 10), compress)
        acknowledged = path.stat().st_size
        await deliver(root, many(11, 20), compress)
        cut = data.draw(st.integers(acknowledged, path.stat().st_size))
        os.truncate(path, cut)
        os.truncate(path, cut + data.draw(st.sampled_from([0, 0, 1, 5_000])))
        assert await deliver(root, many(11, 25), compress) == DeliveryResult(15)

    asyncio.run(crash_and_go_on())
    assert lines_of(root) == [parcel.body for parcel in many(1, 25)]


@pytest.mark.parametrize("compress", CODINGS)
async def test_a_torn_end_is_cut_off_at_opening_even_if_nothing_is_added_there(
    tmp_path: Path, compress: Coding
) -> None:
    await deliver(tmp_path, many(1, 3), compress)
    path = file_of(tmp_path, compress)
    whole = contents(path)
    with path.open("ab") as file:
        file.write(path.read_bytes()[:7])
    tomorrow = told(4, at=NOON + timedelta(days=1))
    await deliver(tmp_path, [tomorrow], compress)
    assert contents(path) == whole
    assert numbers(lines_of(tmp_path)) == [1, 2, 3, 4]


@pytest.mark.parametrize("compress", CODINGS)
async def test_a_torn_end_in_a_file_of_long_ago_is_cut_off_before_a_replay_adds_to_it(
    tmp_path: Path, compress: Coding
) -> None:
    old = [told(n, at=NOON - timedelta(days=400)) for n in (1, 2)]
    newer = [told(n, at=NOON - timedelta(days=400 - 30 * n)) for n in range(3, 10)]
    await deliver(tmp_path, [*old, *newer], compress)
    path = tmp_path / "events" / file_of(tmp_path, compress, day="2024-12-01").name
    os.truncate(path, path.stat().st_size - 3)
    await deliver(tmp_path, [*old, *newer], compress, replay=1)
    lines = contents(path).split(b"\n")
    # Compressed, both were in one frame.
    assert numbers(lines[:-1]) == ([1, 1, 2] if compress == "none" else [1, 2])
    assert lines[-2].endswith(b',"replay":1}')


@pytest.mark.parametrize("compress", CODINGS)
async def test_the_same_numbers_of_another_log_are_other_events(
    tmp_path: Path, compress: Coding
) -> None:
    """The database was restored from an older backup: its numbers are given out once more."""
    await deliver(tmp_path, many(1, 10), compress)
    other = many(6, 12, log="b")
    assert await deliver(tmp_path, other, compress) == DeliveryResult(7)
    assert await deliver(tmp_path, other, compress) == DeliveryResult(7)
    assert lines_of(tmp_path) == [parcel.body for parcel in (*many(1, 10), *other)]


@pytest.mark.parametrize("compress", CODINGS)
async def test_a_letter_that_was_dead_is_added_late_and_once(
    tmp_path: Path, compress: Coding
) -> None:
    await deliver(tmp_path, [*many(1, 2), *many(4, 50)], compress)
    for _ in range(2):
        async with opened(tmp_path, compress=compress) as outlet:
            assert await outlet.deliver(many(51, 51), replay=0) == DeliveryResult(1)
            assert await outlet.deliver(many(3, 3), replay=0) == DeliveryResult(1)
            assert await outlet.deliver(many(52, 52), replay=0) == DeliveryResult(1)
    assert numbers(lines_of(tmp_path)) == [1, 2, *range(4, 52), 3, 52]


async def test_a_long_line_is_found_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ndjson_file_ends, "_BLOCK", 100)
    monkeypatch.setattr(ndjson_file_ends, "LOOKED_AT", 300)
    parcels = [
        told(n, payload={"text": "x" * (7 * n) * (n % 3) * 10, "more": "}\\n{"})
        for n in range(1, 30)
    ]
    await deliver(tmp_path, parcels)
    assert await deliver(tmp_path, parcels) == DeliveryResult(29)
    with file_of(tmp_path, "none").open("ab") as file:
        file.write(b'{"seq":30,"id":"event-a-000030","ty' + b"\0" * 1_000)
    assert await deliver(tmp_path, [*parcels, told(30)]) == DeliveryResult(30)
    assert lines_of(tmp_path) == [parcel.body for parcel in (*parcels, told(30))]


@pytest.mark.parametrize("compress", CODINGS)
@pytest.mark.parametrize("rest", [b"some notes of mine", b"\x1f\x8b\x08 gzip", b"[1, 2"])
async def test_what_somebody_else_wrote_is_not_cut_off(
    tmp_path: Path, compress: Coding, rest: bytes
) -> None:
    await deliver(tmp_path, many(1, 3), compress)
    path = file_of(tmp_path, compress)
    with path.open("ab") as file:
        file.write(rest)
    receipt = await deliver(tmp_path, many(4, 4), compress)
    assert (receipt.taken, receipt.trouble) == (0, "storage_error")
    assert path.name in receipt.detail
    assert path.read_bytes().endswith(rest)


async def test_lines_of_somebody_else_are_left_alone(tmp_path: Path) -> None:
    await deliver(tmp_path, many(1, 3))
    with file_of(tmp_path, "none").open("ab") as file:
        file.write(b'{"note":"mine"}\n')
    assert await deliver(tmp_path, many(1, 4)) == DeliveryResult(4)
    assert [line[:8] for line in lines_of(tmp_path)] == [
        b'{"seq":1',
        b'{"seq":2',
        b'{"seq":3',
        b'{"note":',
        b'{"seq":4',
    ]


class FailingDisk(Disk):
    """Full from the given sync on, for as many as said."""

    def __init__(self, after: int, times: int = 1) -> None:
        self.syncs, self.bad = 0, range(after, after + times)

    def sync_file(self, descriptor: int) -> None:
        self.syncs += 1
        if self.syncs in self.bad:
            raise OSError(errno.ENOSPC, "No space left on device")
        super().sync_file(descriptor)


@pytest.mark.parametrize("compress", CODINGS)
async def test_a_full_disk_leaves_no_half_line_and_nothing_is_lost(
    tmp_path: Path, compress: Coding
) -> None:
    both = [told(1, "new_entry"), told(2), told(3, "new_entry"), told(4)]
    async with opened(tmp_path, compress=compress, disk=FailingDisk(after=2)) as outlet:
        receipt = await outlet.deliver(both, replay=0)
        assert (receipt.taken, receipt.trouble) == (0, "storage_error")
        assert receipt.detail == "No space left on device (ENOSPC)"
        assert lines_of(tmp_path, "events") == []  # the second file
        assert await outlet.deliver(both, replay=0) == DeliveryResult(4)
    assert numbers(lines_of(tmp_path, "entries")) == [1, 3]
    assert numbers(lines_of(tmp_path, "events")) == [2, 4]


class WatchedDisk(Disk):
    """Notes every promise that the disk is asked for, by the name of what it is about."""

    def __init__(self) -> None:
        self.seen: list[str] = []

    def sync_file(self, descriptor: int) -> None:
        self.seen.append(os.path.basename(os.readlink(f"/proc/self/fd/{descriptor}")))
        super().sync_file(descriptor)

    def sync_folder(self, folder: str) -> None:
        self.seen.append(os.path.basename(folder) + "/")
        super().sync_folder(folder)


async def test_a_batch_is_synced_once_and_a_new_file_with_its_folder(tmp_path: Path) -> None:
    disk = WatchedDisk()
    async with opened(tmp_path / "out", disk=disk, within=tmp_path / "out") as outlet:
        await outlet.deliver(many(1, 500), replay=0)
        assert disk.seen[-2:] == [f"{DAY}.ndjson", "events/"]
        assert disk.seen.count(f"{DAY}.ndjson") == 1
        assert "out/" in disk.seen[:-2]
        disk.seen.clear()
        await outlet.deliver(many(501, 1_000), replay=0)
        assert disk.seen == [f"{DAY}.ndjson"]
        await outlet.deliver(many(501, 1_000), replay=0)
        assert disk.seen == [f"{DAY}.ndjson"]


async def test_two_processes_do_not_write_at_once(tmp_path: Path) -> None:
    class Slow(Disk):
        began, may_end = threading.Event(), threading.Event()

        def sync_file(self, descriptor: int) -> None:
            self.began.set()
            assert self.may_end.wait(10)
            super().sync_file(descriptor)

    async with opened(tmp_path, disk=Slow()) as one, opened(tmp_path) as other:
        writing = asyncio.create_task(one.deliver(many(1, 3), replay=0))
        await asyncio.to_thread(Slow.began.wait)
        busy = await other.deliver(many(1, 3), replay=0)
        assert (busy.taken, busy.trouble) == (0, "folder_busy")
        Slow.may_end.set()
        assert await writing == DeliveryResult(3)
        assert await other.deliver(many(1, 5), replay=0) == DeliveryResult(5)
        assert await one.deliver(many(4, 6), replay=0) == DeliveryResult(3)
    assert numbers(lines_of(tmp_path)) == [1, 2, 3, 4, 5, 6]


async def test_whoever_is_told_to_stop_stops_between_two_batches(tmp_path: Path) -> None:
    class Slow(Disk):
        began, may_end = threading.Event(), threading.Event()

        def sync_file(self, descriptor: int) -> None:
            self.began.set()
            assert self.may_end.wait(10)
            super().sync_file(descriptor)

    async with opened(tmp_path, disk=Slow()) as outlet:
        writing = asyncio.create_task(outlet.deliver(many(1, 3), replay=0))
        await asyncio.to_thread(Slow.began.wait)
        writing.cancel()
        await asyncio.sleep(0)
        assert not writing.done()  # a thread is still writing
        Slow.may_end.set()
        with pytest.raises(asyncio.CancelledError):
            await writing
        assert await outlet.deliver(many(1, 4), replay=0) == DeliveryResult(4)
    assert numbers(lines_of(tmp_path)) == [1, 2, 3, 4]


async def test_whoever_is_stopped_at_the_door_leaves_it_open(tmp_path: Path) -> None:
    class Slow(Disk):
        began, may_end = threading.Event(), threading.Event()

        def sync_folder(self, folder: str) -> None:
            self.began.set()
            assert self.may_end.wait(10)
            super().sync_folder(folder)

    root = tmp_path / "out"
    async with opened(root, disk=Slow()) as outlet:
        writing = asyncio.create_task(outlet.deliver(many(1, 3), replay=0))
        await asyncio.to_thread(Slow.began.wait)
        writing.cancel()
        await asyncio.sleep(0)
        Slow.may_end.set()
        with pytest.raises(asyncio.CancelledError):
            await writing
        assert await deliver(root, many(1, 3)) == DeliveryResult(3)
        assert await outlet.deliver(many(1, 4), replay=0) == DeliveryResult(4)
    assert numbers(lines_of(root)) == [1, 2, 3, 4]


async def test_a_file_that_was_moved_away_begins_anew(tmp_path: Path) -> None:
    async with opened(tmp_path) as outlet:
        await outlet.deliver(many(1, 3), replay=0)
        file_of(tmp_path, "none").rename(tmp_path / "kept.ndjson")
        assert await outlet.deliver(many(4, 5), replay=0) == DeliveryResult(2)
    assert numbers(lines_of(tmp_path)) == [4, 5]
    assert numbers((tmp_path / "kept.ndjson").read_bytes().splitlines()) == [1, 2, 3]
