"""The commands with no service running: in process, under the data folder's locks."""

import gzip
import json
import os
import pty
import sqlite3
import subprocess
from pathlib import Path

import pytest

from headwater import __version__
from headwater.entrypoints.cli.system.machine_checks import data_folder_checks
from headwater.entrypoints.server.data_folder import hold_locks
from headwater.settings import Settings
from tests.entrypoints.cli.conftest import Shell
from tests.support.service import ATOM, HEADWATER, RSS, SECONDS, Origin, environment


@pytest.fixture
def alone(nobody: Shell) -> Shell:
    """Here the first command makes everything, also the database."""
    return nobody


def test_a_feed_is_followed_read_and_kept_without_a_service(alone: Shell, origin: Origin) -> None:
    assert alone("list").out == "No feeds yet. Follow one with `headwater add URL`.\n"
    added = alone("add", origin.url("/feed.xml"))
    assert added.code == 0, added.err
    assert "2 entries" in added.out
    assert "nothing will be visited until you start one with `headwater run`" in added.err
    assert {each["title"] for each in alone("entries", "--json").json} == {
        "First post",
        "Second post",
    }
    (feed,) = alone("list", "--json").json
    assert feed["url"] == origin.url("/feed.xml")


def test_a_command_waits_for_nobody_but_says_who_is_in_the_way(
    alone: Shell, tmp_path: Path, origin: Origin
) -> None:
    with hold_locks(tmp_path / "data", ("work",), "headwater work", is_service=True):
        refused = alone("add", origin.url("/feed.xml"), "--json")
    assert refused.code == 3
    assert refused.error["error"] == "data_folder_in_use"
    assert refused.error["pid"] == os.getpid()


def test_migrate_goes_forth_and_back_and_says_so(alone: Shell) -> None:
    forth = alone("migrate", "--json").json
    assert forth["from"] is None
    assert alone("migrate").out.endswith("nothing to do.\n")
    asked = alone("migrate", "--down")
    assert asked.code == 2
    assert "--yes" in asked.err
    back = alone("migrate", "--down", "--to", "0001", "--yes", "--json").json
    assert back == {"from": forth["to"], "to": "0001"}
    unknown = alone("migrate", "--to", "9999")
    assert (unknown.code, unknown.err) == (
        2,
        "headwater: There is no way from here to a schema called 9999;"
        " they are called 0001, 0002, …\n",
    )
    assert alone("migrate").out == f"Schema 0001 → {forth['to']}\n"
    assert alone("migrate", "--down", "--to", "base", "--yes").out == (
        f"Schema {forth['to']} → empty\n"
    )
    nowhere = alone("migrate", "--down", "--yes")
    assert (nowhere.code, nowhere.err) == (2, "headwater: There is no schema before this one.\n")


def test_doctor_does_not_speak_of_a_server_where_the_database_is_a_file(
    alone: Shell, tmp_path: Path
) -> None:
    alone("migrate")
    (Path(alone.env["HEADWATER_DATA_DIR"]) / "headwater.db").write_bytes(b"no database" * 1_000)
    checks = {check["name"]: check for check in alone("doctor", "--json").json}
    assert checks["database"]["state"] == "error"
    assert checks["database"]["todo"] == (
        "Has its disk room, may the folder be written, is the file whole?"
    )


def test_doctor_without_anything_says_what_to_do_first(alone: Shell) -> None:
    done = alone("doctor", "--json")
    checks = {check["name"]: check for check in done.json}
    assert done.code == 0
    assert checks["database"]["saw"] == "none yet"
    assert checks["service"]["todo"] == "Start it with `headwater run`."


def test_doctor_finds_a_database_that_is_behind_or_unreachable(
    alone: Shell, tmp_path: Path
) -> None:
    alone("migrate", "--to", "0001")
    done = alone("doctor", "--json")
    assert done.code == 1
    (schema,) = [check for check in done.json if check["name"] == "schema"]
    assert schema["todo"] == "Run `headwater migrate`."
    away = Shell({**alone.env, "DATABASE_URL": "postgresql://nobody@127.0.0.1:1/none"})
    done = away("doctor", "--json")
    assert done.code == 1
    (database,) = [check for check in done.json if check["name"] == "database"]
    assert database["state"] == "error"


def test_doctor_says_whether_stored_secrets_open(alone: Shell, tmp_path: Path) -> None:
    alone("migrate")
    fine = alone("doctor", "--json")
    assert [c["saw"] for c in fine.json if c["name"] == "secret key"] == ["0 secrets"]
    with sqlite3.connect(tmp_path / "data" / "headwater.db") as database:
        database.execute(
            "INSERT INTO subscription_groups (name, credentials, created_at, updated_at)"
            " VALUES ('g', ?, 0, 0)",
            (b"\x01" + bytes(60),),
        )
    database.close()
    done = alone("doctor", "--json")
    (check,) = [c for c in done.json if c["name"] == "secret key"]
    assert (check["state"], check["saw"]) == ("error", "1 of 1 secret cannot be opened")
    wrong = Shell({**alone.env, "HEADWATER_SECRET_KEY": "no-key"})("doctor", "--json")
    (check,) = [c for c in wrong.json if c["name"] == "secret key"]
    assert (check["state"], "openssl" in check["saw"]) == ("error", True)
    assert "no-key" not in wrong.out


def test_doctor_finds_a_database_file_that_another_user_left_behind(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Root may write everything, so what the system says of this user is put in its mouth."""
    folder = tmp_path / "data"
    folder.mkdir(mode=0o700)
    for name in ("headwater.db", "headwater.db-wal", "headwater.db.copy"):  # a copy may be kept so
        (folder / name).touch()
    monkeypatch.setattr(os, "access", lambda path, _: not str(path).endswith(("-wal", ".copy")))
    found = [
        each for each in data_folder_checks(Settings(data_dir=folder)) if each.state == "error"
    ]
    assert [each.saw for each in found] == [f"{folder}/headwater.db-wal cannot be written to"]


def test_doctor_warns_about_an_open_folder_and_an_open_door(alone: Shell, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir(mode=0o755)
    shell = Shell({**alone.env, "HEADWATER_HOST": "0.0.0.0"})
    done = shell("doctor", "--json")
    checks = {check["name"]: check for check in done.json}
    assert done.code == 1
    assert "chmod 700" in checks["data folder"]["todo"]
    assert checks["way in"]["state"] == "error"


def test_a_database_that_is_not_there_is_5(alone: Shell) -> None:
    away = Shell({**alone.env, "DATABASE_URL": "postgresql://nobody@127.0.0.1:1/none"})
    done = away("list")
    assert done.code == 5
    assert "cannot be reached" in done.err
    assert "Traceback" not in done.err


def test_parse_reads_a_file_or_stdin_and_keeps_nothing(alone: Shell, tmp_path: Path) -> None:
    file = tmp_path / "feed.xml"
    file.write_bytes(RSS)
    document = alone("parse", str(file), "--json").json
    assert document["format"] == "rss"
    assert document["feed"]["title"]["value"] == "River news"
    assert [entry["native_id"] for entry in document["entries"]] == ["one", "two"]
    assert document["entries"][0]["published"] == "2026-03-01T12:00:00Z"
    assert document["entries"][0]["fragment"].keys() == {"offset", "length"}
    shown = alone("parse", "-", given=ATOM)
    assert "Lake letters" in shown.out
    assert "atom 1.0" in shown.out
    assert not (tmp_path / "data").exists()


def test_parse_fetches_a_url_as_the_service_would(
    alone: Shell, origin: Origin, tmp_path: Path
) -> None:
    assert alone("parse", origin.url("/atom.xml"), "--json").json["format"] == "atom"
    nothing = alone("parse", origin.url("/none"))
    assert nothing.code == 6
    assert nothing.err.endswith("Nothing is found at this URL (404). HTTP status 404.\n")
    assert alone("parse", "http://10.0.0.1/feed.xml").code == 2
    assert not (tmp_path / "data").exists()


def test_parse_refuses_what_is_no_feed(alone: Shell, tmp_path: Path) -> None:
    done = alone("parse", "-", "--json", given=b"<html><body>Hello</body></html>")
    assert done.code == 2
    assert done.error["error"] == "not_a_feed"
    assert alone("parse", str(tmp_path / "none.xml")).code == 2
    long = Shell({**alone.env, "MAX_BODY_BYTES": "1024"})
    assert long("parse", "-", given=b"x" * 1025).code == 2
    assert alone("parse", "-", given=gzip.compress(RSS)).code == 2


def test_settings_are_shown_without_secrets(alone: Shell) -> None:
    shell = Shell({**alone.env, "HEADWATER_ADMIN_TOKEN": "geheim", "MAX_REDIRECTS": "3"})
    shown = shell("settings", "--json")
    assert shown.json["max_redirects"] == 3
    assert shown.json["user_agent"].startswith(f"Headwater/{__version__} ")
    assert "geheim" not in shown.out + shell("settings").out


def test_a_setting_that_does_not_work_is_2(alone: Shell) -> None:
    done = Shell({**alone.env, "HEADWATER_PORT": "many"})("list", "--json")
    assert done.code == 2
    assert done.error["error"] == "bad_settings"
    assert "port" in done.error["message"]


def test_help_and_version_need_nothing(alone: Shell) -> None:
    shown = alone("--help")
    assert shown.code == 0
    for panel in ("Run it", "Feeds", "Entries", "Upkeep", "Exit codes"):
        assert panel in shown.out
    assert alone("--version").out == f"headwater {__version__}\n"
    assert alone("nonsense").code == 2
    assert alone("entries", "--limit", "0").code == 2


def test_the_folder_may_be_named_on_either_side(alone: Shell, tmp_path: Path) -> None:
    other = tmp_path / "elsewhere"
    assert alone("list", "--data-dir", str(other), "--json").json == []
    assert (other / "headwater.db").exists()
    assert alone("--data-dir", str(other), "list", "--json").json == []


def test_two_commands_at_once_do_not_disturb_each_other(tmp_path: Path, origin: Origin) -> None:
    env = environment(tmp_path / "data", origin)
    both = [
        subprocess.Popen(
            [*HEADWATER, "add", origin.url(path), "--json"],
            env=env,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        for path in ("/feed.xml", "/atom.xml")
    ]
    ended = [(process.communicate(timeout=SECONDS), process.returncode) for process in both]
    assert [code for _, code in ended] == [0, 0], [err for (_, err), _ in ended]


def test_on_a_terminal_a_page_offers_its_feeds_by_number(tmp_path: Path, origin: Origin) -> None:
    above, below = pty.openpty()
    process = subprocess.Popen(
        [*HEADWATER, "add", origin.url("/"), "--json"],
        env=environment(tmp_path / "data", origin),
        stdin=below,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    os.close(below)
    os.write(above, b"2\n")
    out, err = process.communicate(timeout=SECONDS)
    os.close(above)
    assert process.returncode == 2, err  # --json never asks
    assert json.loads(err)["error"] == "not_a_feed"
    assert out == b""


@pytest.mark.parametrize(
    ("typed", "title"), [(b"2\n", b"Lake letters"), (b"9\n1\n", b"River news")]
)
def test_a_number_that_is_typed_is_taken(
    tmp_path: Path, origin: Origin, typed: bytes, title: bytes
) -> None:
    above, below = pty.openpty()
    process = subprocess.Popen(
        [*HEADWATER, "add", origin.url("/")],
        env=environment(tmp_path / "data", origin),
        stdin=below,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    os.close(below)
    os.write(above, typed)
    out, err = process.communicate(timeout=SECONDS)
    os.close(above)
    assert process.returncode == 0, err
    assert title in out
    assert b"It links to these feeds" in err


def test_a_question_that_is_not_answered_ends_with_130(tmp_path: Path, origin: Origin) -> None:
    above, below = pty.openpty()
    env = environment(tmp_path / "data", origin)
    process = subprocess.Popen(
        [*HEADWATER, "add", origin.url("/")],
        env=env,
        stdin=below,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    os.close(below)
    os.write(above, b"\x04")  # Ctrl-D
    _, err = process.communicate(timeout=SECONDS)
    os.close(above)
    assert process.returncode == 130, err
    assert err.endswith(b"Aborted.\n")
    assert Shell(env)("list", "--json").json == []
