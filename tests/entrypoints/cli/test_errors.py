"""Exit codes mean something, and trouble is told plainly."""

import errno
import json
import resource
import subprocess
import tempfile
from pathlib import Path

import pytest

from headwater.core.errors import (
    BadSettings,
    BadUrl,
    ConnectionLost,
    DuplicateUrl,
    FetchFailed,
    HeadwaterError,
    NotAFeed,
    NotFound,
    RawExpired,
    TooSoon,
    Unauthorized,
    UnknownSchema,
)
from headwater.entrypoints.cli.errors import ApiError, ExitCode, exit_code_of, print_error
from headwater.entrypoints.cli.http_connection import ServiceUnreachable
from headwater.entrypoints.cli.session import Session
from headwater.entrypoints.cli.system.checks import status_checks
from headwater.entrypoints.cli.system.machine_checks import clock_checks, version_checks
from headwater.entrypoints.server.data_folder import DataFolderInUse
from headwater.parse import accelerator
from headwater.settings import load_settings
from tests.support.service import HEADWATER, SECONDS, environment


@pytest.mark.parametrize(
    ("trouble", "code"),
    [
        (HeadwaterError("x"), 1),
        (BadUrl("x"), 2),
        (NotAFeed("x"), 2),
        (BadSettings("x"), 2),
        (DuplicateUrl("x"), 3),
        (DataFolderInUse("x"), 3),
        (TooSoon("x"), 3),
        (Unauthorized("x"), 3),
        (NotFound("x"), 4),
        (RawExpired("x"), 4),
        (ConnectionLost("x"), 5),
        (UnknownSchema("x"), 5),
        (ServiceUnreachable("x"), 5),
        (FetchFailed("x"), 6),
    ],
)
def test_every_trouble_has_its_exit_code_here_and_through_the_api(
    trouble: HeadwaterError, code: int
) -> None:
    assert exit_code_of(trouble) == code
    told = ApiError(trouble.status, {"error": trouble.code, "message": "x"})
    assert exit_code_of(told) == code


def test_a_plain_line_for_people(capsys: pytest.CaptureFixture[str]) -> None:
    print_error(NotFound("No feed is called 'x'."), as_json=False)
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err == "headwater: No feed is called 'x'.\n"


def test_the_envelope_for_programs(capsys: pytest.CaptureFixture[str]) -> None:
    print_error(DuplicateUrl("Followed already.", feed_id="f1"), as_json=True)
    printed = capsys.readouterr()
    assert printed.out == ""
    assert json.loads(printed.err) == {
        "error": "duplicate_url",
        "message": "Followed already.",
        "detail": "Followed already.",
        "status_code": 409,
        "feed_id": "f1",
    }


def test_the_apis_own_envelope_is_passed_on_unchanged(capsys: pytest.CaptureFixture[str]) -> None:
    envelope = {"error": "too_soon", "message": "m", "detail": "d", "status_code": 429, "x": 1}
    print_error(ApiError(429, envelope), as_json=True)
    assert json.loads(capsys.readouterr().err) == envelope


def test_a_request_that_did_not_fit_names_its_fields() -> None:
    problem = {"loc": ["body", "overrides", "interval_sec"], "msg": "must be a number"}
    refusal = ApiError(422, {"error": "validation_error", "detail": [problem]})
    assert refusal.message == "overrides.interval_sec: must be a number"
    assert exit_code_of(refusal) == ExitCode.USAGE


def test_escape_sequences_in_an_error_do_not_reach_the_terminal(
    capsys: pytest.CaptureFixture[str],
) -> None:
    print_error(NotFound("evil \x1b]0;title\x07 \x9b31m"), as_json=False)
    printed = capsys.readouterr().err
    assert not {"\x1b", "\x07", "\x9b"} & set(printed)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
@pytest.mark.parametrize("command", [("list",), ("list", "--json"), ("opml", "export")])
def test_a_full_disk_is_told_in_a_line(tmp_path: Path, command: tuple[str, ...]) -> None:
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [*HEADWATER, *command],
            env=environment(tmp_path / "data"),
            stdout=full,
            stderr=subprocess.PIPE,
            timeout=SECONDS,
            check=False,
        )
    assert done.returncode == 2
    assert b"stdout cannot be written: No space left on device." in done.stderr
    assert b"Traceback" not in done.stderr


def _without_room() -> None:
    """Every file is too large; pipes take what they are given."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))


@pytest.mark.parametrize("command", ["run", "serve", "migrate"])
def test_a_data_folder_without_room_is_not_told_as_stdout(tmp_path: Path, command: str) -> None:
    done = _done_without_room(tmp_path / "data", command)
    assert done.returncode != 0
    assert b"cannot be used: File too large." in done.stderr
    assert str(tmp_path / "data").encode() in done.stderr
    assert b"stdout" not in done.stderr
    assert b"Traceback" not in done.stderr


def test_doctor_sees_a_patient_whose_disk_is_full(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir(mode=0o700)
    done = _done_without_room(tmp_path / "data", "doctor", "--json")
    assert done.stderr == b""
    assert "disk" in {each["name"] for each in json.loads(done.stdout)}


def _done_without_room(data: Path, *command: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [*HEADWATER, *command],
        env=environment(data),
        preexec_fn=_without_room,
        capture_output=True,
        timeout=SECONDS,
        check=False,
    )


@pytest.mark.parametrize(("command", "code"), [("list", 2), ("run", 2), ("doctor", 1)])
def test_a_file_in_place_of_the_data_folder_is_told_in_a_line(
    tmp_path: Path, command: str, code: int
) -> None:
    file = tmp_path / "data"
    file.touch()
    done = subprocess.run(
        [*HEADWATER, command],
        env=environment(file),
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode == code
    assert "Traceback" not in done.stderr
    assert "data folder" in done.stdout + done.stderr


def test_doctor_speaks_on_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(**_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(tempfile, "NamedTemporaryFile", full)
    (check,) = clock_checks(load_settings(data_dir=tmp_path))
    assert (check.name, check.state) == ("clock", "ok")


@pytest.mark.parametrize(
    ("trouble", "todo"),
    [
        (Unauthorized("A valid token is needed."), "Set HEADWATER_TOKEN."),
        (ConnectionLost("away"), "Look at the service's log."),
    ],
)
def test_doctor_asks_for_a_token_where_one_is_missing(
    monkeypatch: pytest.MonkeyPatch, trouble: HeadwaterError, todo: str
) -> None:
    def refused(_: Session) -> None:
        raise ApiError(trouble.status, {"error": trouble.code, "message": "x"})

    monkeypatch.setattr(Session, "api", refused)
    (check,) = status_checks(Session())
    assert (check.state, check.todo) == ("error", todo)


@pytest.mark.parametrize(
    ("words", "todo"),
    [
        ("compiled", ""),
        (
            "plain Python, nothing is compiled (why)",
            "It is faster compiled: install a C compiler and Python's headers, then Headwater"
            " again.",
        ),
    ],
)
def test_doctor_tells_how_the_parser_was_installed(
    words: str, todo: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(accelerator, "describe", lambda: words)
    parser = next(check for check in version_checks() if check.name == "parser")
    assert (parser.state, parser.saw, parser.todo) == ("ok", words, todo)
