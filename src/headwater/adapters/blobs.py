"""Blobs in a folder, S3 or Google Cloud Storage. They are durable once acknowledged."""

import asyncio
import errno
import os
import re
import secrets
import time
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast
from urllib.parse import urlsplit
from urllib.request import url2pathname  # noqa: TID251 -- a plain function beside a client

import obstore
from obstore.exceptions import BaseError
from obstore.store import GCSStore, S3Store

from headwater.core.durable_files import Disk
from headwater.core.errors import BadInput, BadSettings, StorageError

if TYPE_CHECKING:  # obstore ships these as stubs only
    from obstore.store import ClientConfig, GCSConfig, RetryConfig, S3Config
T = TypeVar("T")
R = TypeVar("R")
_KEY = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*(?:/[A-Za-z0-9][A-Za-z0-9._-]*)*")
_LONGEST_KEY = 512


class FolderBlobs:
    """The `Blobs` port in a local folder.

    A blob is written to a temporary file, synced and renamed into place, and its folder is synced:
    after a power cut a key is there whole or not at all. The syncs of a group overlap in a few
    threads, because disks and journals serve many at once for little more than the price of one.
    """

    storage = "localfs"

    def __init__(
        self,
        root: str | Path,
        *,
        threads: int = 4,
        abandoned_after: float = 3600.0,
        disk: Disk | None = None,
    ) -> None:
        """A temporary file older than `abandoned_after` seconds belonged to a dead process."""
        self._root = os.path.abspath(root)
        self._unfinished = os.path.join(self._root, "tmp")
        self._threads = threads
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="blobs")
        self._abandoned_after = abandoned_after
        self._disk = disk or Disk()
        self._durable_folders: set[str] = set()
        """Folders that survive a power cut: we synced all folders above them ourselves."""

    async def put_many(self, blobs: Sequence[tuple[str, bytes]]) -> None:
        files = [(self._path(key), body) for key, body in dict(blobs).items()]
        with _as_storage_errors():
            try:
                await self._write_files(files)
            except FileNotFoundError:
                # Somebody has deleted the folder meanwhile: we know nothing about it any more.
                self._durable_folders.clear()
                await self._write_files(files)

    async def get(self, key: str) -> bytes | None:
        with _as_storage_errors():
            return (await self._in_threads(_contents, [self._path(key)]))[0]

    async def delete(self, keys: Sequence[str]) -> None:
        with _as_storage_errors():
            await self._in_threads(_remove, [self._path(key) for key in keys])

    async def close(self) -> None:
        await asyncio.to_thread(self._pool.shutdown)

    def _path(self, key: str) -> str:
        return os.path.join(self._root, check_blob_key(key))

    async def _write_files(self, files: Sequence[tuple[str, bytes]]) -> None:
        folders = {os.path.dirname(path) for path, _ in files}
        unknown = folders - self._durable_folders
        above = (await self._in_threads(self._make_folders, [unknown]))[0] if unknown else set()
        await self._in_threads(self._write, files)
        await self._in_threads(self._disk.sync_folder, sorted(folders | above))
        self._durable_folders |= folders | above

    def _make_folders(self, folders: set[str]) -> set[str]:
        """Make missing folders. Return the folders above that must be synced to make them last."""
        above: set[str] = set()
        if self._root not in self._durable_folders:
            os.makedirs(self._unfinished, exist_ok=True)
            self._delete_abandoned_files()
            above.update(_readable_parents(self._root))
        for folder in folders:
            os.makedirs(folder, exist_ok=True)
            while folder != self._root and folder not in self._durable_folders:
                folder = os.path.dirname(folder)
                above.add(folder)
        return above

    def _write(self, file: tuple[str, bytes]) -> None:
        path, body = file
        if self._is_stored_already(path, body):
            return
        temporary = os.path.join(self._unfinished, secrets.token_hex(12))
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)
        try:
            try:
                _write_all(descriptor, body)
                self._disk.sync_file(descriptor)
            finally:
                os.close(descriptor)
            self._disk.move(temporary, path)
        except BaseException:
            _remove(temporary)
            raise

    def _is_stored_already(self, path: str, body: bytes) -> bool:
        """A damaged file does not count. Its writer may have died before it synced the file, so the
        file is synced again."""
        try:
            with open(path, "rb", buffering=0) as file:
                if os.fstat(file.fileno()).st_size != len(body) or file.readall() != body:
                    return False
                self._disk.sync_file(file.fileno())
                return True
        except FileNotFoundError:
            return False

    def _delete_abandoned_files(self) -> None:
        """A young file may belong to another process that is still writing it."""
        oldest = time.time() - self._abandoned_after
        for entry in os.scandir(self._unfinished):
            try:
                if entry.stat().st_mtime < oldest:
                    _remove(entry.path)
            except FileNotFoundError:
                continue  # another process has just finished it

    async def _in_threads(self, work: Callable[[T], R], items: Sequence[T]) -> list[R]:
        """Share the items among the threads; the results are not in their order.

        A caller that is cancelled does not wait for the threads.
        """
        loop = asyncio.get_running_loop()
        slices = [items[start :: self._threads] for start in range(min(self._threads, len(items)))]
        running = [loop.run_in_executor(self._pool, _work_on_all, work, part) for part in slices]
        results: list[R] = []
        for outcome in await asyncio.gather(*running, return_exceptions=True):
            if isinstance(outcome, BaseException):
                raise outcome
            results.extend(outcome)
        return results


class ObjectBlobs:
    """The `Blobs` port in a bucket: `s3://bucket/prefix` or `gs://bucket/prefix`.

    The service answers a put only when the object is durable. Credentials come from the usual
    environment variables or from `options`, by the names obstore gives them.
    """

    def __init__(
        self,
        url: str,
        *,
        options: Mapping[str, Any] | None = None,
        at_once: int = 16,
        timeout: float = 30.0,
        retries: int = 3,
    ) -> None:
        self._turns = asyncio.Semaphore(at_once)
        self.storage, self._store = _bucket(url, dict(options or {}), timeout, retries)

    async def put_many(self, blobs: Sequence[tuple[str, bytes]]) -> None:
        bodies = {check_blob_key(key): body for key, body in blobs}
        await _all_of(self._put(key, body) for key, body in bodies.items())

    async def get(self, key: str) -> bytes | None:
        with _as_storage_errors():
            try:
                blob = await obstore.get_async(self._store, check_blob_key(key))
                return bytes(await blob.bytes_async())
            except FileNotFoundError:
                return None

    async def delete(self, keys: Sequence[str]) -> None:
        """A missing blob is fine. Some services report it as an error, and stop there."""
        checked = [check_blob_key(key) for key in keys]
        with _as_storage_errors():
            try:
                await obstore.delete_async(self._store, checked)
            except FileNotFoundError:
                await _all_of(self._delete_one(key) for key in checked)

    async def close(self) -> None:
        """Nothing to do: connections belong to the store and end with it."""

    async def _put(self, key: str, body: bytes) -> None:
        async with self._turns:
            with _as_storage_errors():
                await obstore.put_async(self._store, key, body)

    async def _delete_one(self, key: str) -> None:
        async with self._turns:
            with suppress(FileNotFoundError):
                await obstore.delete_async(self._store, key)


def _bucket(
    url: str, options: dict[str, Any], timeout: float, retries: int
) -> tuple[str, S3Store | GCSStore]:
    limit = timedelta(seconds=timeout)
    client: ClientConfig = {
        "timeout": limit,
        "connect_timeout": limit / 3,
        "allow_http": bool(options.pop("allow_http", False)),
    }
    retry: RetryConfig = {"max_retries": retries, "retry_timeout": limit}
    scheme = urlsplit(url).scheme
    try:
        if scheme == "s3":
            config = cast("S3Config", options)
            return "s3", S3Store.from_url(
                url, config=config, client_options=client, retry_config=retry
            )
        if scheme == "gs":
            return "gcs", GCSStore.from_url(
                url,
                config=cast("GCSConfig", options),
                client_options=client,
                retry_config=retry,
            )
    except (BaseError, ValueError) as error:
        reason = str(error).partition("\n")[0]  # internals of the library follow
        raise BadSettings(f"blob_url: no bucket can be reached as {url}: {reason}") from error
    raise BadSettings(
        "blob_url must be a folder, s3://bucket/prefix or gs://bucket/prefix.", url=url
    )


def check_blob_key(key: str) -> str:
    """Check that a key is plain words with slashes between: it cannot lead out of its folder."""
    if len(key) > _LONGEST_KEY or not _KEY.fullmatch(key):
        raise BadInput("not a key of a blob", key=key[:_LONGEST_KEY])
    return key


def _work_on_all(work: Callable[[T], R], items: Iterable[T]) -> list[R]:
    return [work(item) for item in items]


async def _all_of(work: Iterable[Coroutine[Any, Any, None]]) -> None:
    """Run all and end when every one has ended, so that nothing goes on after the call."""
    for outcome in await asyncio.gather(*work, return_exceptions=True):
        if isinstance(outcome, BaseException):
            raise outcome


@contextmanager
def _as_storage_errors() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        reason = errno.errorcode.get(error.errno or 0, type(error).__name__)
        raise StorageError(f"storage failed: {error.strerror or error}", reason=reason) from error
    except BaseError as error:
        raise StorageError(f"storage failed: {error}", reason=type(error).__name__) from error


def _write_all(descriptor: int, body: bytes) -> None:
    left = memoryview(body)
    while left:
        left = left[os.write(descriptor, left) :]


def _contents(path: str) -> bytes | None:
    try:
        with open(path, "rb") as file:
            return file.read()
    except FileNotFoundError:
        return None


def _remove(path: str) -> None:
    with suppress(FileNotFoundError):
        os.unlink(path)


def _readable_parents(folder: str) -> Iterator[str]:
    """List the folders above on the same file system. An earlier run may not have synced them."""
    while not os.path.ismount(folder):
        folder = os.path.dirname(folder)
        if os.access(folder, os.R_OK):
            yield folder


def open_blobs(
    place: str | Path, *, options: Mapping[str, Any] | None = None
) -> FolderBlobs | ObjectBlobs:
    """A path, `file://…`, `s3://bucket/prefix` or `gs://bucket/prefix`."""
    if isinstance(place, Path) or "://" not in place:
        return FolderBlobs(place)
    parts = urlsplit(place)
    if parts.scheme == "file":
        return FolderBlobs(url2pathname(parts.path))
    return ObjectBlobs(place, options=options)
