"""What is written to the log, whatever other tests set the log to before."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import structlog
from structlog.testing import capture_logs

from headwater import assigning, registry, resolving
from headwater.adapters import builtins

Lines = list[Any]

_LOGGERS = (
    (assigning, "log"),
    (builtins, "log"),
    (registry, "_lines"),
    (resolving, "_lines"),
)


@contextmanager
def heard() -> Iterator[Lines]:
    """Loggers that were used before keep their settings for good: so these are new ones."""
    before = structlog.get_config()
    structlog.reset_defaults()
    with pytest.MonkeyPatch.context() as patch:
        for module, name in _LOGGERS:
            patch.setattr(module, name, structlog.get_logger(module.__name__))
        with capture_logs() as lines:
            yield lines
    structlog.configure(**before)
