"""Downloads from the command line, and what the doctor says of their client and folders."""

from pathlib import Path

import pytest

from headwater.entrypoints.cli.system.media_checks import media_checks
from headwater.settings import Settings
from tests.entrypoints.cli.conftest import Shell


def test_without_any_download_it_says_how_to_begin(alone: Shell) -> None:
    done = alone("downloads", "list")
    assert (done.code, "headwater track add" in done.out) == (0, True)
    assert alone("downloads", "list", "--json").json == []
    assert alone("downloads", "show", "7").code != 0
    assert alone("downloads", "retry", "7").code != 0
    assert alone("downloads", "drop", "7").code != 0


def settings(folder: Path, **said: object) -> Settings:
    given: dict[str, object] = {
        "data_dir": folder,
        "media_client": "qbittorrent",
        "media_client_url": "http://127.0.0.1:1",
        "media_library": folder / "library",
        "media_downloads": folder / "downloads",
        "media_free_bytes": 0,
    }
    return Settings(**(given | said))  # type: ignore[arg-type]


def test_where_nothing_is_downloaded_the_doctor_is_silent(tmp_path: Path) -> None:
    assert list(media_checks(Settings(data_dir=tmp_path))) == []


def test_the_doctor_names_a_client_that_is_away_and_folders_that_are_not_there(
    tmp_path: Path,
) -> None:
    found = [(each.name, each.state) for each in media_checks(settings(tmp_path))]
    assert found == [
        ("download client", "error"),
        ("media folders", "error"),
        ("media folders", "error"),
    ]


def test_the_doctor_looks_at_the_room_for_downloads(tmp_path: Path) -> None:
    for name in ("library", "downloads"):
        (tmp_path / name).mkdir()
    found = {each.name: each.state for each in media_checks(settings(tmp_path))}
    assert (found["media folders"], found["media room"]) == ("ok", "ok")
    full = {e.name: e.state for e in media_checks(settings(tmp_path, media_free_bytes=2**50))}
    assert full["media room"] == "error"


@pytest.mark.parametrize("template", ["../{season}{episode}", "{title}"])
def test_a_template_that_cannot_name_files_is_told(tmp_path: Path, template: str) -> None:
    (check,) = media_checks(settings(tmp_path, media_episode_template=template))
    assert (check.name, check.state) == ("downloads", "error")
    assert check.saw.startswith("media_episode_template: ")
    (check,) = media_checks(settings(tmp_path, media_film_template="{bogus}"))
    assert check.saw.startswith("media_film_template: ")
