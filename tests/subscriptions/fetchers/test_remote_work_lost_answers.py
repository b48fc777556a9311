"""A fetcher whose answer got lost asks again with its key and gets the same work, not more."""

from pathlib import Path
from typing import Any

import pytest

from headwater.core import idempotency_rows
from headwater.core.errors import DatabaseError
from headwater.entrypoints.api.app import create_app
from headwater.feeds.keyring import Credentials
from headwater.settings import Settings
from headwater.subscriptions import secret_rows
from headwater.subscriptions.fetchers.fetcher import Fetcher
from headwater.subscriptions.seal_credentials import seal_for_subscription
from tests.support.api_caller import Answer, Api
from tests.support.engine_parts import EngineParts
from tests.support.remote_fetcher import Remote

ONE, TWO = "https://one.example/list?token=a-secret", "https://two.example/list"


@pytest.fixture
def api(engine: EngineParts, tmp_path: Path) -> Api:
    return Api(create_app(engine.services, Settings(data_dir=tmp_path)))


async def claim(api: Api, fetcher: Fetcher, key: str, **said: Any) -> Answer:
    return await api.post(f"/fetcher-modules/{fetcher.id}/claims", said, idempotency_key=key)


async def renew(api: Api, fetcher: Fetcher, key: str, works: Any, seconds: int) -> Answer:
    of = [{name: work[name] for name in ("subscription_id", "scheduled_at", "fence")}
          for work in works]  # fmt: skip
    said = {"claims": of, "lease_seconds": seconds}
    return await api.post(f"/fetcher-modules/{fetcher.id}/claims/renew", said, idempotency_key=key)


async def fences(remote: Remote) -> list[int]:
    return [row.fence for row in await remote.rows("SELECT fence FROM feeds ORDER BY id")]


def lost_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    """We die between the effect and the answer."""

    async def dies(*_: object) -> None:
        raise DatabaseError("gone")

    monkeypatch.setattr(idempotency_rows, "set_key_answer", dies)


async def test_the_same_claims_come_again_and_no_second_ones(api: Api, remote: Remote) -> None:
    fetcher = await remote.fetcher()
    for url in (ONE, TWO):
        await remote.subscribe(fetcher, url)
    first = await claim(api, fetcher, "k", limit=1)
    await remote.clock.advance(5)
    again = await claim(api, fetcher, "k", limit=1)
    assert (again.status, again.body) == (200, first.body)
    assert again.headers["idempotent-replayed"] == "true"
    assert [each["source_url"] for each in first.json["claims"]] == [ONE]
    assert await fences(remote) == [1, 0]
    other = await claim(api, fetcher, "k", limit=2)
    assert (other.status, other.error) == (422, "idempotency_mismatch")


async def test_claims_that_come_again_are_held_no_longer_for_it(api: Api, remote: Remote) -> None:
    fetcher = await remote.fetcher()
    await remote.subscribe(fetcher, ONE)
    first = await claim(api, fetcher, "k", lease_seconds=60)
    await remote.clock.advance(59)
    assert (await claim(api, fetcher, "k", lease_seconds=60)).body == first.body
    await remote.clock.advance(1)
    assert (await claim(api, fetcher, "k", lease_seconds=60)).json["claims"] == []
    assert len((await claim(api, fetcher, "another")).json["claims"]) == 1


async def test_several_claims_come_again_in_their_order(api: Api, remote: Remote) -> None:
    fetcher = await remote.fetcher()
    await remote.subscribe(fetcher, ONE, priority=10)
    await remote.subscribe(fetcher, TWO, priority=90, config='{"city":"Ghent"}')
    first = await claim(api, fetcher, "k")
    assert [each["source_url"] for each in first.json["claims"]] == [TWO, ONE]
    assert (await claim(api, fetcher, "k")).body == first.body


async def test_nothing_to_do_is_the_same_answer_too(api: Api, remote: Remote) -> None:
    fetcher = await remote.fetcher()
    first = await claim(api, fetcher, "k")
    assert first.json == {"claims": [], "next_due_at": None}
    await remote.subscribe(fetcher, ONE)
    assert (await claim(api, fetcher, "k")).body == first.body
    assert len((await claim(api, fetcher, "another")).json["claims"]) == 1


async def test_a_claim_that_is_over_does_not_come_again(api: Api, remote: Remote) -> None:
    fetcher = await remote.fetcher()
    for url in (ONE, TWO):
        await remote.subscribe(fetcher, url)
    one, two = (await claim(api, fetcher, "k")).json["claims"]
    await renew(api, fetcher, "r", [one], 0)
    assert (await claim(api, fetcher, "k")).json["claims"] == [two]
    await remote.clock.advance(121)  # the end of the lease
    assert (await claim(api, fetcher, "k")).json["claims"] == []


async def test_credentials_come_again_and_are_not_kept_with_the_key(
    api: Api, remote: Remote, engine: EngineParts
) -> None:
    fetcher = await remote.fetcher()
    made = await remote.subscribe(fetcher, ONE)
    hidden = Credentials(origins=("https://one.example",), bearer="a-bearer-token")
    async with engine.database.write() as tx:
        sealed = seal_for_subscription(engine.vault, made.id, hidden)
        await secret_rows.set_subscription_secret(tx, made.id, sealed, engine.clock.now())
    first = await claim(api, fetcher, "k")
    assert first.json["claims"][0]["headers"] == [["Authorization", "Bearer a-bearer-token"]]
    assert (await claim(api, fetcher, "k")).body == first.body
    kept = repr(await remote.rows("SELECT * FROM idempotency"))
    assert "a-bearer-token" not in kept
    assert "a-secret" not in kept


async def test_a_disabled_fetcher_gets_nothing_again(api: Api, remote: Remote) -> None:
    fetcher = await remote.fetcher()
    await remote.subscribe(fetcher, ONE)
    await claim(api, fetcher, "k")
    await api.patch(f"/fetcher-modules/{fetcher.id}", {"is_enabled": False})
    assert (await claim(api, fetcher, "k")).status == 403


async def test_a_lease_is_made_longer_once(api: Api, remote: Remote) -> None:
    fetcher = await remote.fetcher()
    await remote.subscribe(fetcher, ONE)
    works = (await claim(api, fetcher, "k")).json["claims"]
    first = await renew(api, fetcher, "r", works, 300)
    ends = await remote.rows("SELECT next_visit_at FROM feeds")
    await remote.clock.advance(60)
    again = await renew(api, fetcher, "r", works, 300)
    assert (again.status, again.body) == (200, first.body)
    assert again.headers["idempotent-replayed"] == "true"
    assert await remote.rows("SELECT next_visit_at FROM feeds") == ends
    other = await renew(api, fetcher, "r", works, 60)
    assert (other.status, other.error) == (422, "idempotency_mismatch")


async def test_work_given_back_twice_is_not_lost_work(api: Api, remote: Remote) -> None:
    fetcher = await remote.fetcher()
    made = await remote.subscribe(fetcher, ONE)
    works = (await claim(api, fetcher, "k")).json["claims"]
    gone = [works[0] | {"subscription_id": 99}]
    first = await renew(api, fetcher, "r", works + gone, 0)
    assert (first.json["renewed"], first.json["lost"]) == ([made.id], [99])
    assert (await renew(api, fetcher, "r", works + gone, 0)).body == first.body


async def test_after_a_crash_the_retry_tells_what_was_done(
    api: Api, remote: Remote, monkeypatch: pytest.MonkeyPatch
) -> None:
    fetcher = await remote.fetcher()
    made = await remote.subscribe(fetcher, ONE)
    works = (await claim(api, fetcher, "k")).json["claims"]
    with monkeypatch.context() as dying:
        lost_answers(dying)
        assert (await renew(api, fetcher, "r", works, 0)).status == 500
    again = await renew(api, fetcher, "r", works, 0)
    assert (again.json["renewed"], again.json["lost"]) == ([made.id], [])
