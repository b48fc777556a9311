"""Feeds that are followed, fetchers that fetch them, and whole visits."""

from tests.support.subscriptions_fixtures import engine as engine
from tests.support.subscriptions_fixtures import remote as remote
from tests.support.subscriptions_fixtures import world as world
from tests.support.visits import river as river
