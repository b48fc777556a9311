"""What is written to the log, whatever other tests set the log to before."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import structlog
from structlog.testing import capture_logs

from headwater.subscriptions import change_subscription, subscribe, unsubscribe
from headwater.subscriptions.conflicts import conflict_commands
from headwater.subscriptions.fetchers import ask_fetchers, fetcher_plugins

Lines = list[Any]

_LOGGERS = (
    (ask_fetchers, "logger"),
    (fetcher_plugins, "logger"),
    (subscribe, "logger"),
    (change_subscription, "logger"),
    (unsubscribe, "logger"),
    (conflict_commands, "logger"),
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
