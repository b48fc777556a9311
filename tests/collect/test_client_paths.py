"""One folder under two names, and what is outside of it."""

import pytest

from headwater.collect.client_paths import from_client, to_client


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
    assert to_client(root, "release-3") == told
    assert from_client(root, told) == "release-3"
    assert from_client(root, told + "/") == "release-3"


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
    assert from_client("/data", path) == found
