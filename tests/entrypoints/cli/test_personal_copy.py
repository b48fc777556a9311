"""`headwater readers copy` and the doctor's look at Redis, on a real one."""

from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from tests.conftest import had
from tests.entrypoints.cli.conftest import Shell
from tests.support.brokers import OwnServer, own_redis


@pytest.fixture
def redis(mortal_redis: OwnServer) -> OwnServer:
    return mortal_redis


@pytest.fixture
def in_redis(alone: Shell, redis: OwnServer) -> Shell:
    """The same data folder, with personal feeds in Redis."""
    told = {"HEADWATER_PERSONAL_STORE": "redis", "HEADWATER_PERSONAL_REDIS_URL": redis.url}
    return Shell(alone.env | told)


def test_readers_and_tokens_go_to_redis_and_back(
    alone: Shell, in_redis: Shell, redis: OwnServer
) -> None:
    alone("readers", "add", "Ada", "--category", "a:b")
    alone("readers", "token", "Ada")
    there = alone(
        "readers", "copy", "--from", "database", "--to", "redis", "--redis-url", redis.url
    )
    assert there.out == "1 reader: 1 new, 0 changed.\n1 token: 1 new, 0 ended.\n0 items: 0 new.\n"
    assert there.code == 0
    assert (
        in_redis("readers", "show", "Ada", "--json").json
        == alone("readers", "show", "Ada", "--json").json
    )
    in_redis("readers", "add", "Bo")
    in_redis("readers", "set", "Ada", "--add", "sea")
    back = in_redis("readers", "copy", "--from", "redis", "--to", "database", "--json")
    assert back.json == {
        "readers": 2,
        "readers_new": 1,
        "readers_changed": 1,
        "tokens": 1,
        "tokens_new": 0,
        "tokens_ended": 0,
        "items": 0,
        "items_new": 0,
        "refused": [],
    }
    assert [reader["name"] for reader in alone("readers", "list", "--json").json] == ["Ada", "Bo"]


def test_a_name_that_is_taken_there_is_a_problem(alone: Shell, in_redis: Shell) -> None:
    alone("readers", "add", "Ada")
    in_redis("readers", "add", "Ada")
    done = in_redis("readers", "copy", "--from", "database", "--to", "redis")
    assert done.code == 1
    assert "Not copied: Ada. There is a reader of this name already." in done.out


def test_a_copy_needs_two_places(alone: Shell) -> None:
    same = alone("readers", "copy", "--from", "redis", "--to", "redis")
    assert (same.code, "from one place to the other" in same.err) == (2, True)
    nowhere = alone("readers", "copy", "--from", "database", "--to", "redis")
    assert (nowhere.code, "personal_redis_url" in nowhere.err) == (2, True)
    wrong = alone("readers", "copy", "--from", "database", "--to", "redis", "--redis-url", "x://h")
    assert (wrong.code, "redis://host" in wrong.err) == (2, True)


def test_a_copy_to_a_server_that_is_away_says_so(in_redis: Shell, redis: OwnServer) -> None:
    redis.kill()
    done = in_redis("readers", "copy", "--from", "database", "--to", "redis")
    assert (done.code, "Redis cannot be reached" in done.err) == (5, True)
    redis.start()
    assert in_redis("readers", "copy", "--from", "database", "--to", "redis").code == 0


def personal(shell: Shell) -> list[tuple[str, str]]:
    found = shell("doctor", "--json").json
    return [(each["state"], each["saw"]) for each in found if each["name"] == "personal feeds"]


def test_doctor_looks_at_the_redis_of_personal_feeds(
    alone: Shell, in_redis: Shell, redis: OwnServer
) -> None:
    alone("migrate")
    assert personal(alone) == []
    assert personal(in_redis) == [("ok", "in Redis, which keeps them on disk")]
    redis.kill()
    ((state, saw),) = personal(in_redis)
    assert (state, "Redis cannot be reached" in saw) == ("error", True)


@pytest.fixture
def forgetful() -> Iterator[OwnServer]:
    with ExitStack() as end:
        yield had(end, own_redis("--appendonly", "no", "--save", ""))


def test_doctor_warns_of_a_redis_that_keeps_nothing_on_disk(
    alone: Shell, forgetful: OwnServer
) -> None:
    alone("migrate")
    told = {"HEADWATER_PERSONAL_STORE": "redis", "HEADWATER_PERSONAL_REDIS_URL": forgetful.url}
    ((state, saw),) = personal(Shell(alone.env | told))
    assert (state, "keeps nothing on disk" in saw) == ("warning", True)
