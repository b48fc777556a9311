"""Cursors in files: whole or not at all."""

from pathlib import Path

import pytest

from headwater.client import FileCursor
from headwater.core.errors import BadSettings


def test_a_number_is_kept(tmp_path: Path) -> None:
    cursor = FileCursor(tmp_path / "cursor")
    assert cursor.load() is None
    cursor.save(0)
    cursor.save(1_234_567)
    assert FileCursor(str(tmp_path / "cursor")).load() == 1_234_567
    assert [path.name for path in tmp_path.iterdir()] == ["cursor"]


def test_a_write_that_failed_leaves_the_old_number(tmp_path: Path) -> None:
    cursor = FileCursor(tmp_path / "cursor")
    cursor.save(7)
    (tmp_path / ".cursor.new").mkdir()
    with pytest.raises(OSError, match=r"cursor\.new"):
        cursor.save(8)
    assert cursor.load() == 7


@pytest.mark.parametrize("text", ["", "seven", "-7", "7 8", "9" * 30])
def test_a_file_that_holds_something_else_is_not_believed(text: str, tmp_path: Path) -> None:
    (tmp_path / "cursor").write_text(text)
    with pytest.raises(BadSettings, match="does not hold the number of an event"):
        FileCursor(tmp_path / "cursor").load()
