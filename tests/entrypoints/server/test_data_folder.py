"""One server and one worker per data folder; a killed one leaves nothing in the way."""

import errno
import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from headwater.core.errors import BadSettings
from headwater.entrypoints.server.data_folder import (
    BOTH_ROLES,
    DataFolderInUse,
    ServiceNotice,
    hold_locks,
    is_locked,
    lock_owner,
    make_folder,
    publish_notice,
    running_service,
    stable_worker_id,
)

NOTICE = ServiceNotice("http://127.0.0.1:8470", os.getpid(), "2026-03-01T12:00:00Z")

HOLD = """
import sys
from pathlib import Path
from headwater.entrypoints.server.data_folder import BOTH_ROLES as BOTH
from headwater.entrypoints.server.data_folder import ServiceNotice as Notice
from headwater.entrypoints.server.data_folder import publish_notice as announced
from headwater.entrypoints.server.data_folder import hold_locks as held
import os
folder = Path(sys.argv[1])
with held(folder, BOTH, "headwater run", is_service=True):
    with announced(folder, Notice("http://127.0.0.1:1", os.getpid(), "2026-03-01T12:00:00Z")):
        print("held", flush=True)
        sys.stdin.read()
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "data"


def service_elsewhere(folder: Path) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


def end(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.communicate()


def test_a_lock_is_held_inside_and_free_afterwards(folder: Path) -> None:
    with hold_locks(folder, ("serve",), "headwater serve"):
        assert is_locked(folder, "serve")
        assert not is_locked(folder, "work")
    assert not is_locked(folder, "serve")


def test_a_second_service_is_refused_at_once_and_told_who_is_there(folder: Path) -> None:
    process = service_elsewhere(folder)
    try:
        with (
            pytest.raises(DataFolderInUse) as refusal,
            hold_locks(folder, BOTH_ROLES, "headwater run", is_service=True, patience=60),
        ):
            raise AssertionError("two services on one folder")
    finally:
        end(process)
    assert refusal.value.facts == {"pid": process.pid, "url": "http://127.0.0.1:1"}
    assert f"process {process.pid}, http://127.0.0.1:1" in refusal.value.message


def test_a_short_command_is_waited_for(folder: Path) -> None:
    inside, leave = threading.Event(), threading.Event()

    def command() -> None:
        with hold_locks(folder, BOTH_ROLES, "headwater add"):
            inside.set()
            leave.wait(10)

    thread = threading.Thread(target=command)
    thread.start()
    assert inside.wait(10)
    threading.Timer(0.2, leave.set).start()
    with hold_locks(folder, BOTH_ROLES, "headwater run", is_service=True, patience=10):
        assert leave.is_set()
    thread.join()


def test_a_command_that_does_not_end_is_not_waited_for_for_ever(folder: Path) -> None:
    with (
        hold_locks(folder, ("serve",), "headwater add"),
        pytest.raises(DataFolderInUse, match="`headwater add`"),
        hold_locks(folder, ("serve",), "headwater list", patience=0.1),
    ):
        raise AssertionError("both inside")


def test_a_killed_service_leaves_no_lock_and_its_notice_does_not_count(folder: Path) -> None:
    process = service_elsewhere(folder)
    assert running_service(folder) == ServiceNotice(
        "http://127.0.0.1:1", process.pid, "2026-03-01T12:00:00Z"
    )
    end(process)
    assert (folder / "service.json").exists()
    assert not is_locked(folder, "serve")
    assert running_service(folder) is None
    with hold_locks(folder, BOTH_ROLES, "headwater run", is_service=True):
        assert running_service(folder) is None


def test_a_notice_is_there_while_the_service_is_and_gone_afterwards(folder: Path) -> None:
    with (
        hold_locks(folder, BOTH_ROLES, "headwater run", is_service=True),
        publish_notice(folder, NOTICE),
    ):
        assert running_service(folder) == NOTICE
        assert (folder / "service.json").stat().st_mode & 0o777 == 0o600
        assert json.loads((folder / "service.json").read_text()) == {
            "url": "http://127.0.0.1:8470",
            "pid": os.getpid(),
            "started_at": "2026-03-01T12:00:00Z",
        }
    assert not (folder / "service.json").exists()


@pytest.mark.parametrize("rubbish", [b"", b"{", b"[]", b'{"url": 1}', b'{"pid": null}'])
def test_a_damaged_notice_is_no_notice(folder: Path, rubbish: bytes) -> None:
    with hold_locks(folder, BOTH_ROLES, "headwater run", is_service=True):
        (folder / "service.json").write_bytes(rubbish)
        assert running_service(folder) is None


def test_half_of_the_locks_is_given_back_when_the_other_half_is_taken(folder: Path) -> None:
    with hold_locks(folder, ("work",), "headwater work", is_service=True):
        with (
            pytest.raises(DataFolderInUse, match="worked on by `headwater work`"),
            hold_locks(folder, BOTH_ROLES, "headwater run", is_service=True),
        ):
            raise AssertionError("two workers")
        assert not is_locked(folder, "serve")


def test_a_released_lock_names_nobody(folder: Path) -> None:
    with hold_locks(folder, ("work",), "headwater work", is_service=True):
        who = lock_owner(folder, "work")
        assert who is not None
        assert (who.pid, who.what, who.is_service) == (os.getpid(), "headwater work", True)
        assert who.is_alive
    assert lock_owner(folder, "work") is None


def test_a_new_data_folder_is_for_its_owner_alone(folder: Path) -> None:
    make_folder(folder)
    assert folder.stat().st_mode & 0o777 == 0o700


def test_a_data_folder_that_is_a_file_is_a_bad_setting(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("not a folder")
    with pytest.raises(BadSettings, match="cannot be made"):
        make_folder(tmp_path / "data")


def test_a_file_in_place_of_the_data_folder_is_told_to_whoever_only_looks(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    for look in (running_service, stable_worker_id):
        with pytest.raises(BadSettings, match=r"cannot be used: Not a directory\."):
            look(file)


def test_a_disk_that_cannot_be_written_is_told_to_whoever_only_looks(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def read_only(*_: object) -> int:
        raise OSError(errno.EROFS, "Read-only file system")

    make_folder(folder)
    monkeypatch.setattr(os, "open", read_only)
    with pytest.raises(BadSettings, match=r"cannot be used: Read-only file system\."):
        is_locked(folder, "serve")


def test_a_full_disk_is_told_and_no_lock_is_left(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "pwrite", full)
        with (
            pytest.raises(BadSettings, match=r"cannot be used: No space left on device\."),
            hold_locks(folder, BOTH_ROLES, "headwater run", is_service=True),
        ):
            pytest.fail("held without a signature")
    assert not is_locked(folder, "serve")


def test_a_worker_keeps_its_id(folder: Path) -> None:
    first = stable_worker_id(folder)
    assert stable_worker_id(folder) == first
    assert len(first) == 36


def test_a_damaged_worker_id_is_made_anew(folder: Path) -> None:
    make_folder(folder)
    (folder / "worker_id").write_text("not a uuid")
    made = stable_worker_id(folder)
    assert stable_worker_id(folder) == made
