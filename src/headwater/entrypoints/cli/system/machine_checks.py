"""Machine checks of the doctor: versions, data folder, disk, clock, limits, address."""

import os
import platform
import resource
import shutil
import ssl
import stat
import tempfile
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from lxml import etree

from headwater import __version__
from headwater.core.values.safe_xml import LEAST_LIBXML2
from headwater.entrypoints.cli.system.check import Check
from headwater.entrypoints.server.binding import MOST_CONNECTIONS, MOST_OPEN_FILES, is_loopback
from headwater.parse import accelerator
from headwater.settings import Settings
from headwater.wiring.app import library_versions

MIB = 1024 * 1024
LITTLE_DISK = 2048 * MIB
NO_DISK = 200 * MIB
LEAST = {"SQLite": (3, 35), "libcurl": (7, 84)}
EARLIEST_CLOCK = datetime(2026, 1, 1, tzinfo=UTC)
"""A right clock shows no earlier time than this."""
CLOCK_SECONDS = 5.0
COMPILE = "It is faster compiled: install a C compiler and Python's headers, then Headwater again."


def version_checks() -> Iterator[Check]:
    yield Check("Headwater", "ok", __version__)
    yield Check("Python", "ok", f"{platform.python_version()} on {platform.system()}")
    for name, version in library_versions().items():
        yield _version_check(name, version, LEAST[name])
    yield _version_check("libxml2", ".".join(map(str, etree.LIBXML_VERSION)), LEAST_LIBXML2)
    yield Check("OpenSSL", "ok", ssl.OPENSSL_VERSION)
    parser = accelerator.describe()
    yield Check("parser", "ok", parser, "" if parser == "compiled" else COMPILE)


def _version_check(name: str, version: str, least: tuple[int, ...]) -> Check:
    if _numbers(version) >= least:
        return Check(name, "ok", version)
    needed = ".".join(map(str, least))
    return Check(name, "error", version, f"At least {needed} is needed: use a newer Python build.")


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("-")[0].split(".") if part.isdigit())


def data_folder_checks(settings: Settings) -> Iterator[Check]:
    folder = settings.data_dir.absolute()
    if not folder.exists():
        yield Check("data folder", "ok", f"{folder} will be made on the first start")
        return
    if not folder.is_dir():
        todo = "Choose another with --data-dir or HEADWATER_DATA_DIR."
        yield Check("data folder", "error", f"{folder} is a file", todo)
        return
    if not os.access(folder, os.R_OK | os.W_OK | os.X_OK):
        todo = "Correct its permissions, or how its disk is mounted."
        yield Check("data folder", "error", f"{folder} cannot be written to", todo)
        return
    mode = stat.S_IMODE(folder.stat().st_mode)
    if mode & 0o077:
        todo = f"Others can look inside; run `chmod 700 {folder}`."
        yield Check("data folder", "warning", f"{folder} has mode {mode:o}", todo)
    else:
        yield Check("data folder", "ok", str(folder))
    yield from _database_file_checks(folder)
    yield _disk_check(folder)


def _database_file_checks(folder: Path) -> Iterator[Check]:
    """Find files of the database that we cannot write, left by another user or by a restore. All
    commands that only read would work on. Other files in the folder, such as copies, do not
    matter."""
    for name in ("headwater.db", "headwater.db-shm", "headwater.db-wal"):
        path = folder / name
        if path.exists() and not os.access(path, os.R_OK | os.W_OK):
            todo = "Correct its permissions, or whose it is."
            yield Check("database file", "error", f"{path} cannot be written to", todo)


def _disk_check(folder: Path) -> Check:
    free = shutil.disk_usage(folder).free
    saw = f"{free // MIB:,} MiB free"
    if free < NO_DISK:
        return Check("disk", "error", saw, "Make room now: nothing can be kept soon.")
    if free < LITTLE_DISK:
        return Check("disk", "warning", saw, "Make room, or lower raw_keep_days.")
    return Check("disk", "ok", saw)


def clock_checks(settings: Settings) -> Iterator[Check]:
    now = datetime.now(UTC)
    if now < EARLIEST_CLOCK:
        todo = "Set the clock (NTP): schedules and validators depend on it."
        yield Check("clock", "error", f"{now:%Y-%m-%d %H:%M} UTC is in the past", todo)
        return
    drift = max(_clock_drift(), _file_drift(settings.data_dir))
    if drift > CLOCK_SECONDS:
        todo = "The clock jumps or the disk's server has another time; look at NTP."
        yield Check("clock", "warning", f"off by {drift:.0f} s", todo)
    else:
        yield Check("clock", "ok", f"{now:%Y-%m-%d %H:%M:%S} UTC")


def _clock_drift() -> float:
    """Measure how far the wall clock and the monotonic clock differ within a moment."""
    wall, steady = time.time(), time.monotonic()
    time.sleep(0.05)
    return abs((time.time() - wall) - (time.monotonic() - steady))


def _file_drift(folder: Path) -> float:
    """Measure how far the time of the disk is from ours (a network disk has its own)."""
    if not folder.is_dir() or not os.access(folder, os.W_OK):
        return 0.0
    try:
        with tempfile.NamedTemporaryFile(dir=folder, prefix=".doctor") as probe:
            probe.write(b"now")
            probe.flush()
            return abs(os.fstat(probe.fileno()).st_mtime - time.time())
    except OSError:  # a full disk; another check reports it
        return 0.0


def open_file_checks(settings: Settings) -> Iterator[Check]:
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = MOST_OPEN_FILES if hard == resource.RLIM_INFINITY else min(hard, MOST_OPEN_FILES)
    needed = 2 * settings.visits_at_once + 2 * MOST_CONNECTIONS + 128
    saw = f"{most:,} open files allowed, {needed:,} wanted"
    if most < needed:
        todo = f"Raise the limit (`ulimit -Hn {needed}`) or lower visits_at_once."
        yield Check("open files", "warning", saw, todo)
    else:
        yield Check("open files", "ok", saw)


def contact_checks(settings: Settings) -> Iterator[Check]:
    if settings.user_agent_contact or settings.public_base_url:
        yield Check("contact", "ok", settings.user_agent)
    else:
        todo = "Set HEADWATER_USER_AGENT_CONTACT to a URL or e-mail address of yours."
        yield Check("contact", "warning", "publishers cannot reach you", todo)
    yield _bind_check(settings)


def _bind_check(settings: Settings) -> Check:
    saw = f"{settings.host} port {settings.port}"
    if settings.admin_secret is not None:
        return Check("way in", "ok", f"{saw}, with an admin token")
    if is_loopback(settings.host):
        return Check("way in", "ok", f"{saw}, this machine only, no token")
    todo = "Set HEADWATER_ADMIN_TOKEN, or listen on 127.0.0.1."
    return Check("way in", "error", f"{saw}, no admin token", todo)
