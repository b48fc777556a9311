"""The data folder and its locks: one server and one worker use it, all others ask them or wait."""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from uuid import UUID, uuid4

import orjson

from headwater.core.errors import BadSettings, ConflictError
from headwater.core.values.ids import WorkerId

Role = Literal["serve", "work"]
BOTH_ROLES: tuple[Role, ...] = ("serve", "work")

NOTICE_FILE = "service.json"
WORKER_ID_FILE = "worker_id"
POLL_SECONDS = 0.05


@dataclass(frozen=True, slots=True)
class LockOwner:
    """The holder of a lock. A service stays; a command is done in a moment."""

    pid: int
    what: str
    is_service: bool

    @property
    def is_alive(self) -> bool:
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return False
        except PermissionError:
            return True
        return True


@dataclass(frozen=True, slots=True)
class ServiceNotice:
    """The notice that a running service leaves in the data folder."""

    url: str
    pid: int
    started_at: str


class DataFolderInUse(ConflictError):
    """Another process uses this data folder. Facts: `pid`, `url`."""

    code = "data_folder_in_use"


@contextmanager
def hold_locks(
    folder: Path,
    roles: tuple[Role, ...],
    what: str,
    *,
    is_service: bool = False,
    patience: float = 30.0,
) -> Iterator[None]:
    """Hold the locks of these roles. We wait for a short command, but not for a service.

    The kernel drops a lock with its process, so a kill leaves nothing behind. The content of a lock
    file is only for people; the lock itself counts.
    """
    make_folder(folder)
    deadline = time.monotonic() + patience
    with ExitStack() as stack:
        for role in roles:
            with _os_error_as_bad_settings(folder):
                descriptor = os.open(_lock_file(folder, role), os.O_RDWR | os.O_CREAT, 0o600)
            stack.callback(os.close, descriptor)
            _take_lock(folder, role, descriptor, deadline)
            with _os_error_as_bad_settings(folder):
                _write_owner(descriptor, LockOwner(os.getpid(), what, is_service))
            stack.callback(os.ftruncate, descriptor, 0)
        yield


def make_folder(folder: Path) -> None:
    """Make the folder for its owner alone: it holds private feeds and hashed tokens."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as trouble:
        raise BadSettings(
            f"The data folder {folder} cannot be made: {trouble.strerror}."
            " Choose another with --data-dir or HEADWATER_DATA_DIR."
        ) from trouble
    if not os.access(folder, os.R_OK | os.W_OK | os.X_OK):
        raise BadSettings(
            f"The data folder {folder} cannot be written to."
            " Choose another with --data-dir or HEADWATER_DATA_DIR, or correct its permissions."
        )


def is_locked(folder: Path, role: Role) -> bool:
    """True when a process (perhaps this one) holds this lock now."""
    try:
        with _os_error_as_bad_settings(folder):
            descriptor = os.open(_lock_file(folder, role), os.O_RDWR)
    except FileNotFoundError:
        return False
    try:
        return not _try_lock(descriptor)
    finally:
        os.close(descriptor)


def lock_owner(folder: Path, role: Role) -> LockOwner | None:
    """Return the last writer of the lock file. Believe it only while the lock is held."""
    try:
        owner = orjson.loads(_lock_file(folder, role).read_bytes())
        return LockOwner(int(owner["pid"]), str(owner["what"]), bool(owner["is_service"]))
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        return None


@contextmanager
def publish_notice(folder: Path, notice: ServiceNotice) -> Iterator[None]:
    """Publish the URL of the service in the data folder, as long as it runs."""
    path = folder / NOTICE_FILE
    content = orjson.dumps({"url": notice.url, "pid": notice.pid, "started_at": notice.started_at})
    with _os_error_as_bad_settings(folder):
        _replace(path, content)
    try:
        yield
    finally:
        path.unlink(missing_ok=True)


def running_service(folder: Path) -> ServiceNotice | None:
    """Find the service on this folder. The notice of a killed service does not count."""
    if not is_locked(folder, "serve"):
        return None
    try:
        content = orjson.loads((folder / NOTICE_FILE).read_bytes())
        notice = ServiceNotice(str(content["url"]), int(content["pid"]), str(content["started_at"]))
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        return None
    owner = lock_owner(folder, "serve")
    return notice if owner is not None and owner.pid == notice.pid else None


def stable_worker_id(folder: Path) -> WorkerId:
    """Return the worker id of this folder, made once: a restarted worker finds its own
    leases again."""
    path = folder / WORKER_ID_FILE
    try:
        with _os_error_as_bad_settings(folder):
            return WorkerId(str(UUID(path.read_text("ascii").strip())))
    except (FileNotFoundError, ValueError):
        fresh = str(uuid4())
    make_folder(folder)
    with _os_error_as_bad_settings(folder):
        _replace(path, fresh.encode() + b"\n")
    return WorkerId(fresh)


@contextmanager
def _os_error_as_bad_settings(folder: Path) -> Iterator[None]:
    """Explain a full or read-only disk, a folder of somebody else, or a file in its place."""
    try:
        yield
    except FileNotFoundError:
        raise
    except OSError as trouble:
        raise BadSettings(
            f"The data folder {folder} cannot be used: {trouble.strerror}."
            " Correct that, or choose another with --data-dir or HEADWATER_DATA_DIR."
        ) from trouble


def _take_lock(folder: Path, role: Role, descriptor: int, deadline: float) -> None:
    # `is_locked` takes the lock for an instant too: one failed try proves nothing.
    certain_at = time.monotonic() + 4 * POLL_SECONDS
    while not _try_lock(descriptor):
        owner = lock_owner(folder, role)
        stays = owner is not None and owner.is_service and owner.is_alive
        now = time.monotonic()
        if now >= deadline or (stays and now >= certain_at):
            raise _in_use(folder, role, owner)
        time.sleep(POLL_SECONDS)


def _in_use(folder: Path, role: Role, owner: LockOwner | None) -> DataFolderInUse:
    notice = running_service(folder)
    name = owner.what if owner else "another process"
    process = f"process {owner.pid}" if owner else "unknown process"
    where = f", {notice.url}" if notice else ""
    verb = "served" if role == "serve" else "worked on"
    return DataFolderInUse(
        f"The data folder {folder} is already {verb} by `{name}` ({process}{where})."
        " Stop it first, or choose another folder with --data-dir.",
        pid=owner.pid if owner else None,
        url=notice.url if notice else None,
    )


def _try_lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _write_owner(descriptor: int, owner: LockOwner) -> None:
    content = orjson.dumps({"pid": owner.pid, "what": owner.what, "is_service": owner.is_service})
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, content, 0)


def _replace(path: Path, content: bytes) -> None:
    """Replace all of the file or nothing, also for a process that reads at this moment."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    temporary.write_bytes(content)
    temporary.chmod(0o600)
    os.replace(temporary, path)


def _lock_file(folder: Path, role: Role) -> Path:
    return folder / f"{role}.lock"
