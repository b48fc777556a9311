"""Personal feeds in Redis: the promises on a real server."""

from tests.support.personal_contract import PersonalContract
from tests.support.personal_redis import elsewhere, own_server, pen, store

__all__ = ["TestOnRedis", "elsewhere", "own_server", "pen", "store"]


class TestOnRedis(PersonalContract):
    """Valkey or Redis, whichever there is."""
