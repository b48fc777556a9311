"""Releases from the command line: what was decided, why, and a person's word."""

import asyncio
import shutil
from pathlib import Path

import pytest

from headwater.adapters.database import open_database
from headwater.anime.decide.decide_again import catch_up
from headwater.entrypoints.api.app import create_app
from headwater.settings import Settings
from tests.entrypoints.cli.conftest import Shell
from tests.support.api_caller import Api
from tests.support.clock import VirtualClock
from tests.support.scripted_engine import ScriptedWeb, an_engine
from tests.support.tracked_feed import Harbour, ani, item, loli

PLAIN = {"NO_COLOR": "1", "COLUMNS": "160", "TZ": "UTC"}


async def _filled(folder: Path) -> None:
    """The better of two is wanted, and one is held."""
    database = open_database(f"sqlite:///{folder / 'headwater.db'}")
    engine = an_engine(database, VirtualClock(), ScriptedWeb(), folder)
    web = engine.web
    assert isinstance(web, ScriptedWeb)
    api = Api(create_app(engine.services, Settings(data_dir=folder)))
    harbour = Harbour(engine, VirtualClock(), web, api)
    await harbour.follow(loli("01"), ani("01"), item("odd", "[ANi] Tides [1080P][CHT]"))
    tracking = await harbour.track()
    await catch_up(engine.releases, tracking.id)
    await database.close()


@pytest.fixture
def shell(tmp_path: Path, sqlite_template: Path) -> Shell:
    shutil.copyfile(sqlite_template, tmp_path / "headwater.db")
    return Shell({"HEADWATER_DATA_DIR": str(tmp_path), **PLAIN})


@pytest.fixture
def filled(shell: Shell) -> Shell:
    asyncio.run(_filled(Path(shell.env["HEADWATER_DATA_DIR"])))
    return shell


def number(shell: Shell, action: str) -> str:
    (found,) = shell("releases", "list", "--action", action, "--json").json
    return str(found["id"])


def test_no_releases_say_how_to_collect_some(shell: Shell) -> None:
    none = shell("releases", "list")
    assert none.code == 0
    assert none.out == "No releases. `headwater track add URL` collects a show.\n"
    assert shell("releases", "list", "--json").json == []


def test_the_list_says_what_became_of_each_and_why(filled: Shell) -> None:
    listed = filled("releases", "list")
    assert listed.code == 0, listed.err
    assert "Nothing is held for S01E01." in listed.out
    assert "S01E01" in listed.out
    assert len(filled("releases", "list", "--json").json) == 3
    assert len(filled("releases", "list", "-n", "1", "--json").json) == 1
    assert len(filled("releases", "list", "--rule", "unsure", "--json").json) == 1
    assert filled("releases", "list", "--tracking", "9", "--json").json == []


def test_one_release_with_everything(filled: Shell) -> None:
    shown = filled("releases", "show", number(filled, "fetch"))
    assert shown.code == 0, shown.err
    lines = [line.split(maxsplit=1) for line in shown.out.splitlines()]
    said = {name: rest.strip() for name, rest in lines if name in ("groups", "why", "size", "rule")}
    assert said == {
        "groups": "LoliHouse",
        "why": "Nothing is held for S01E01.",
        "size": "300 MiB",
        "rule": "missing",
    }
    missing = filled("releases", "show", "99")
    assert (missing.code, missing.out) == (4, "")


def test_a_held_one_is_taken_and_says_where_it_goes(filled: Shell) -> None:
    held = number(filled, "hold")
    unsaid = filled("releases", "take", held)
    assert unsaid.code != 0
    assert "which episode" in unsaid.err
    taken = filled("releases", "take", held, "--episode", "2", "--episode", "12.5")
    assert taken.out == f"Release {held} is taken: S01E02, S01E12.5.\n"


def test_another_season_may_be_said(filled: Shell) -> None:
    held = number(filled, "hold")
    taken = filled("releases", "take", held, "--season", "0", "--episode", "1", "--json")
    assert taken.json["slots"] == [{"season": 0, "episode": 1, "name": "S00E01"}]


def test_one_is_refused(filled: Shell) -> None:
    skipped = number(filled, "skip")
    assert filled("releases", "refuse", skipped).out == f"Release {skipped} is refused.\n"
    assert number(filled, "refused") == skipped
    wanted = filled("releases", "refuse", number(filled, "fetch"))
    assert wanted.code != 0
    assert "drop its download first" in wanted.err


def test_deciding_anew_says_what_came_of_it(filled: Shell) -> None:
    """What was not the best of several is now beside the one that is on its way."""
    done = filled("releases", "decide", "--tracking", "1")
    assert done.out == (
        "Decided anew: 0 releases wanted, 0 held, 1 skipped, 0 removed by the filter.\n"
    )
