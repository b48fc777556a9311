"""A pytest plugin: nothing is tested unless it was imported from HEADWATER_TEST_COPY."""

import os
import sys
from pathlib import Path

import pytest

COPY = "HEADWATER_TEST_COPY"
OTHER_HEADWATER = 90
"""The exit code where another Headwater was imported."""


def pytest_collection_finish() -> None:
    copy = Path(os.environ[COPY])
    files = [
        Path(module.__file__ or "")
        for name, module in sys.modules.items()
        if name.partition(".")[0] == "headwater"
    ]
    if not files or not all(file.is_relative_to(copy) for file in files):
        pytest.exit(f"Headwater was not imported from {copy}.", returncode=OTHER_HEADWATER)
