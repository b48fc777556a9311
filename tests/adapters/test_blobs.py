"""Blobs are whole, durable once acknowledged, and kept where they belong."""

import asyncio
import errno
import os
import socket
from collections.abc import AsyncIterator, Iterator
from hashlib import sha256
from pathlib import Path

import pytest
from moto.server import ThreadedMotoServer

from headwater.adapters.blobs import FolderBlobs, ObjectBlobs, open_blobs
from headwater.core.durable_files import Disk
from headwater.core.errors import BadInput, BadSettings, StorageError
from tests.support.crash_disk import CrashDisk
from tests.support.toy_gcs import ToyGcs

Store = FolderBlobs | ObjectBlobs
S3_OPTIONS = {
    "access_key_id": "test",
    "secret_access_key": "test",
    "region": "us-east-1",
    "allow_http": True,
}


def key_of(body: bytes) -> str:
    name = sha256(body).hexdigest()
    return f"sha256/{name[:2]}/{name[2:4]}/{name}"


def blobs_of(*bodies: bytes) -> list[tuple[str, bytes]]:
    return [(key_of(body), body) for body in bodies]


MANY = blobs_of(*(b"document %d" % number for number in range(50)))


@pytest.fixture(scope="module")
def s3_endpoint() -> Iterator[str]:
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture
def gcs_endpoint() -> Iterator[str]:
    with ToyGcs() as endpoint:
        yield endpoint


async def _make_bucket(endpoint: str) -> None:
    port = int(endpoint.rsplit(":", 1)[1])
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"PUT /raw HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 0\r\n")
    writer.write(b"Connection: close\r\n\r\n")
    assert b"200" in await reader.readline()
    writer.close()
    await writer.wait_closed()


@pytest.fixture(params=["folder", "s3", "gcs"])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Store]:
    made: Store
    if request.param == "folder":
        made = open_blobs(tmp_path / "blobs")
    elif request.param == "s3":
        endpoint = request.getfixturevalue("s3_endpoint")
        await _make_bucket(endpoint)
        options = {**S3_OPTIONS, "endpoint": endpoint}
        made = open_blobs("s3://raw/some/prefix", options=options)
    else:
        endpoint = request.getfixturevalue("gcs_endpoint")
        # A token of its own: without one the store would ask the cloud's metadata address for it.
        options = {"base_url": endpoint, "bearer_token": "test", "allow_http": True}
        made = open_blobs("gs://raw/some/prefix", options=options)
    yield made
    await made.close()


# Every place ----------------------------------------------------------------------------------


async def test_what_was_put_can_be_got(store: Store) -> None:
    await store.put_many(MANY)
    assert [await store.get(key) for key, _ in MANY] == [body for _, body in MANY]


async def test_a_missing_blob_is_none(store: Store) -> None:
    assert await store.get(key_of(b"never put")) is None


async def test_putting_again_changes_nothing(store: Store) -> None:
    await store.put_many([*MANY[:2], MANY[0]])
    await store.put_many(MANY[:2])
    assert await store.get(MANY[0][0]) == MANY[0][1]


async def test_an_empty_blob_and_an_empty_group_are_fine(store: Store) -> None:
    await store.put_many([])
    await store.put_many(blobs_of(b""))
    assert await store.get(key_of(b"")) == b""


async def test_bytes_come_back_exactly(store: Store) -> None:
    body = bytes(range(256)) * 4096
    await store.put_many(blobs_of(body))
    assert await store.get(key_of(body)) == body


async def test_deleted_blobs_are_gone_and_deleting_twice_is_fine(store: Store) -> None:
    await store.put_many(MANY[:3])
    await store.delete([MANY[0][0], key_of(b"never put"), MANY[1][0]])
    await store.delete([MANY[0][0]])
    assert [await store.get(key) for key, _ in MANY[:3]] == [None, None, MANY[2][1]]


@pytest.mark.parametrize(
    "key",
    ["", "/etc/passwd", "../x", "a/../../x", "a/./b", "a//b", ".hidden", "a/.b", "a\\b", "a\0b"],
)
async def test_a_key_cannot_lead_elsewhere(store: Store, key: str) -> None:
    with pytest.raises(BadInput):
        await store.put_many([(key, b"x")])
    with pytest.raises(BadInput):
        await store.get(key)
    with pytest.raises(BadInput):
        await store.delete([key])


async def test_each_place_has_its_name(store: Store, request: pytest.FixtureRequest) -> None:
    asked_for = request.node.callspec.params["store"]
    assert store.storage == {"folder": "localfs", "s3": "s3", "gcs": "gcs"}[asked_for]


# Buckets --------------------------------------------------------------------------------------


async def test_a_bucket_that_cannot_be_reached_is_a_storage_error() -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    options = {**S3_OPTIONS, "endpoint": f"http://127.0.0.1:{port}"}
    store = ObjectBlobs("s3://raw", options=options, retries=0, timeout=5)
    with pytest.raises(StorageError):
        await store.put_many(MANY[:1])
    with pytest.raises(StorageError):
        await store.get(MANY[0][0])


async def test_a_bucket_that_does_not_exist_is_a_storage_error(s3_endpoint: str) -> None:
    store = ObjectBlobs("s3://nowhere", options={**S3_OPTIONS, "endpoint": s3_endpoint}, retries=0)
    with pytest.raises(StorageError):
        await store.put_many(MANY[:1])


@pytest.mark.parametrize("url", ["ftp://raw/x", "s3://", "http://127.0.0.1/x"])
def test_a_place_nobody_knows_is_refused(url: str) -> None:
    with pytest.raises(BadSettings, match="blob_url") as refused:
        open_blobs(url)
    assert "\n" not in refused.value.message


async def test_a_file_url_is_a_folder(tmp_path: Path) -> None:
    store = open_blobs((tmp_path / "my blobs").as_uri())
    await store.put_many(MANY[:1])
    await store.close()
    assert (tmp_path / "my blobs" / MANY[0][0]).read_bytes() == MANY[0][1]


# Folders: power cuts --------------------------------------------------------------------------


async def test_every_acknowledged_blob_survives_a_power_cut(tmp_path: Path) -> None:
    disk = CrashDisk()
    store = FolderBlobs(tmp_path / "data" / "blobs", disk=disk)
    await store.put_many(MANY[:20])
    await store.put_many(MANY[20:])
    disk.power_cut(tmp_path)
    assert [await store.get(key) for key, _ in MANY] == [body for _, body in MANY]
    await store.close()


async def test_every_single_put_survives_a_power_cut_of_its_own(tmp_path: Path) -> None:
    """One at a time: a new folder's own entry must be synced, also below folders known already."""
    disk = CrashDisk()
    store = FolderBlobs(tmp_path / "blobs", disk=disk)
    for number, blob in enumerate(MANY, start=1):
        await store.put_many([blob])
        disk.power_cut(tmp_path)
        assert [await store.get(key) for key, _ in MANY[:number]] == [
            body for _, body in MANY[:number]
        ]
    await store.close()


async def test_a_blob_left_unsynced_by_a_killed_process_is_synced_before_it_counts(
    tmp_path: Path,
) -> None:
    """The first process wrote it and was killed before any sync; the second finds it there."""
    killed = FolderBlobs(tmp_path / "blobs", disk=CrashDisk(lies=["file", "folder"]))
    await killed.put_many(MANY)
    await killed.close()
    disk = CrashDisk()
    store = FolderBlobs(tmp_path / "blobs", disk=disk)
    await store.put_many(MANY)
    disk.power_cut(tmp_path)
    assert [await store.get(key) for key, _ in MANY] == [body for _, body in MANY]
    await store.close()


@pytest.mark.parametrize("lie", ["file", "folder"])
async def test_the_crash_disk_notices_a_missing_sync(tmp_path: Path, lie: str) -> None:
    disk = CrashDisk(lies=[lie])
    store = FolderBlobs(tmp_path / "blobs", disk=disk)
    await store.put_many(MANY[:1])
    disk.power_cut(tmp_path)
    assert await store.get(MANY[0][0]) in (None, b"")
    await store.close()


@pytest.mark.parametrize("forgotten", [".", "blobs", "blobs/a", "blobs/a/b"])
async def test_the_crash_disk_notices_each_folder_that_was_not_synced(
    tmp_path: Path, forgotten: str
) -> None:
    disk = CrashDisk(folders_never_synced=[tmp_path / forgotten])
    store = FolderBlobs(tmp_path / "blobs", disk=disk)
    await store.put_many([("a/b/blob", b"x")])
    disk.power_cut(tmp_path)
    assert await store.get("a/b/blob") is None
    await store.close()


async def test_each_folder_is_synced_once_a_group(tmp_path: Path) -> None:
    disk = CrashDisk()
    store = FolderBlobs(tmp_path / "blobs", disk=disk)
    await store.put_many([(f"sha256/aa/bb/{number}", b"x") for number in range(30)])
    assert len(disk.folder_syncs) == len(set(disk.folder_syncs))
    assert disk.file_syncs == 30
    disk.folder_syncs.clear()
    await store.put_many([("sha256/aa/bb/new", b"x")])
    assert disk.folder_syncs == [str(tmp_path / "blobs/sha256/aa/bb")]
    await store.close()


# Folders: trouble -----------------------------------------------------------------------------


def files_in(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


class FullDisk(Disk):
    def __init__(self, trouble: int) -> None:
        self.trouble = trouble

    def sync_file(self, descriptor: int) -> None:
        raise OSError(self.trouble, os.strerror(self.trouble))


@pytest.mark.parametrize(("trouble", "reason"), [(errno.ENOSPC, "ENOSPC"), (errno.EIO, "EIO")])
async def test_a_full_or_broken_disk_says_so_and_leaves_nothing_half_written(
    tmp_path: Path, trouble: int, reason: str
) -> None:
    store = FolderBlobs(tmp_path, disk=FullDisk(trouble))
    with pytest.raises(StorageError) as told:
        await store.put_many(MANY)
    assert told.value.facts == {"reason": reason}
    assert files_in(tmp_path) == []
    await store.close()


async def test_it_works_again_once_there_is_space(tmp_path: Path) -> None:
    full = FolderBlobs(tmp_path, disk=FullDisk(errno.ENOSPC))
    with pytest.raises(StorageError):
        await full.put_many(MANY)
    await full.close()
    store = FolderBlobs(tmp_path)
    await store.put_many(MANY)
    assert await store.get(MANY[7][0]) == MANY[7][1]
    await store.close()


async def test_a_folder_cleared_away_under_us_is_made_again(tmp_path: Path) -> None:
    store = FolderBlobs(tmp_path / "blobs")
    await store.put_many(MANY[:1])
    (tmp_path / "blobs").rename(tmp_path / "elsewhere")
    await store.put_many(MANY[:2])
    assert await store.get(MANY[1][0]) == MANY[1][1]
    await store.close()


async def test_a_file_where_a_folder_should_be_is_a_storage_error(tmp_path: Path) -> None:
    (tmp_path / "sha256").write_bytes(b"")
    store = FolderBlobs(tmp_path)
    with pytest.raises(StorageError):
        await store.put_many(MANY[:1])
    await store.close()


async def test_a_blob_of_the_wrong_size_is_replaced(tmp_path: Path) -> None:
    store = FolderBlobs(tmp_path)
    await store.put_many(MANY[:1])
    (tmp_path / MANY[0][0]).write_bytes(b"torn")
    await store.put_many(MANY[:1])
    assert await store.get(MANY[0][0]) == MANY[0][1]
    await store.close()


async def test_old_unfinished_files_are_swept_and_young_ones_left(tmp_path: Path) -> None:
    unfinished = tmp_path / "tmp"
    unfinished.mkdir()
    (unfinished / "old").write_bytes(b"x")
    (unfinished / "young").write_bytes(b"x")
    os.utime(unfinished / "old", (0, 0))
    store = FolderBlobs(tmp_path)
    await store.put_many(MANY[:1])
    assert [path.name for path in unfinished.iterdir()] == ["young"]
    await store.close()


async def test_groups_put_at_the_same_time_do_not_disturb_each_other(tmp_path: Path) -> None:
    store = FolderBlobs(tmp_path / "blobs", threads=4)
    await asyncio.gather(*(store.put_many(MANY[start:]) for start in range(0, 50, 5)))
    assert [await store.get(key) for key, _ in MANY] == [body for _, body in MANY]
    assert list((tmp_path / "blobs" / "tmp").iterdir()) == []
    await store.close()
