"""What a walk through many areas asks for."""

from tests.feeds.worker.conftest import engine as engine
from tests.feeds.worker.conftest import origin as origin
from tests.support.visits import river as river
