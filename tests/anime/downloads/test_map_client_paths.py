"""One folder under two names, and what is outside of it."""

import pytest

from headwater.anime.downloads.map_client_paths import path_for_client, path_from_client


@pytest.mark.parametrize(
    ("root", "told"),
    [
        ("/data", "/data/release-3"),
        ("/data/", "/data/release-3"),
        ("D:\\Torrents", "D:\\Torrents\\release-3"),
        ("D:\\Torrents\\", "D:\\Torrents\\release-3"),
    ],
)
def test_a_folder_goes_there_and_back(root: str, told: str) -> None:
    assert path_for_client(root, "release-3") == told
    assert path_from_client(root, told) == "release-3"
    assert path_from_client(root, told + "/") == "release-3"


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("/data", ""),
        ("/data/a/b", "a/b"),
        ("/database/a", None),
        ("/data/../etc", None),
        ("/elsewhere", None),
        ("/", None),
    ],
)
def test_what_is_elsewhere_is_elsewhere(path: str, found: str | None) -> None:
    assert path_from_client("/data", path) == found
