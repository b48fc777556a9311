"""Who works on a data folder: one server, one worker; everybody else asks them or waits."""

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
    """Who holds a lock. A service stays; a command is done in a moment."""

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
    """What a running service says about itself in the data folder."""

    url: str
    pid: int
    started_at: str


class DataFolderInUse(ConflictError):
    """Somebody else works on this data folder. Facts: `pid`, `url`."""

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
    """Hold the locks of these roles. A short command is waited for, a service is not.

    The kernel drops a lock with its process, so nothing is left behind by a kill. What the lock
    files say is only for people; the lock itself is what counts.
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
    """Only its owner may look inside: it holds private feeds and hashed tokens."""
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
    """Somebody (perhaps ourselves) holds this lock now."""
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
    """Who signed the lock file last: only to be believed while the lock is held."""
    try:
        said = orjson.loads(_lock_file(folder, role).read_bytes())
        return LockOwner(int(said["pid"]), str(said["what"]), bool(said["is_service"]))
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        return None


@contextmanager
def publish_notice(folder: Path, notice: ServiceNotice) -> Iterator[None]:
    """Say in the data folder where the service is, as long as it is there."""
    path = folder / NOTICE_FILE
    said = orjson.dumps({"url": notice.url, "pid": notice.pid, "started_at": notice.started_at})
    with _os_error_as_bad_settings(folder):
        _replace(path, said)
    try:
        yield
    finally:
        path.unlink(missing_ok=True)


def running_service(folder: Path) -> ServiceNotice | None:
    """The service on this folder. A notice that a killed one left behind does not count."""
    if not is_locked(folder, "serve"):
        return None
    try:
        said = orjson.loads((folder / NOTICE_FILE).read_bytes())
        notice = ServiceNotice(str(said["url"]), int(said["pid"]), str(said["started_at"]))
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        return None
    who = lock_owner(folder, "serve")
    return notice if who is not None and who.pid == notice.pid else None


def stable_worker_id(folder: Path) -> WorkerId:
    """Made once per data folder, so that a restarted worker finds its own leases again."""
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
    """A full or read-only disk, somebody else's folder, a file in its place: told in words."""
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
    # `is_locked` takes the lock for an instant too: one look is not enough to believe anything.
    believed = time.monotonic() + 4 * POLL_SECONDS
    while not _try_lock(descriptor):
        who = lock_owner(folder, role)
        stays = who is not None and who.is_service and who.is_alive
        now = time.monotonic()
        if now >= deadline or (stays and now >= believed):
            raise _in_use(folder, role, who)
        time.sleep(POLL_SECONDS)


def _in_use(folder: Path, role: Role, who: LockOwner | None) -> DataFolderInUse:
    notice = running_service(folder)
    name = who.what if who else "another process"
    facts = f"process {who.pid}" if who else "unknown process"
    where = f", {notice.url}" if notice else ""
    verb = "served" if role == "serve" else "worked on"
    return DataFolderInUse(
        f"The data folder {folder} is already {verb} by `{name}` ({facts}{where})."
        " Stop it first, or choose another folder with --data-dir.",
        pid=who.pid if who else None,
        url=notice.url if notice else None,
    )


def _try_lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _write_owner(descriptor: int, who: LockOwner) -> None:
    said = orjson.dumps({"pid": who.pid, "what": who.what, "is_service": who.is_service})
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, said, 0)


def _replace(path: Path, content: bytes) -> None:
    """All of it or nothing, also for whoever reads at this moment."""
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    beside.write_bytes(content)
    beside.chmod(0o600)
    os.replace(beside, path)


def _lock_file(folder: Path, role: Role) -> Path:
    return folder / f"{role}.lock"
