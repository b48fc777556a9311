"""API tokens over HTTP: shown once, kept as a hash, scoped, revocable."""

from collections.abc import Callable

from headwater.entrypoints.api.auth import bearer_token
from tests.support.api_caller import Api
from tests.support.clock import VirtualClock
from tests.support.scripted_engine import River


async def test_a_token_is_shown_once_and_kept_as_a_hash(
    guarded: Callable[..., Api], river: River
) -> None:
    admin = guarded()
    made = await admin.post("/tokens", {"name": "laptop", "scope": "read"})
    assert made.status == 201
    secret = made.json["token"]
    assert secret.startswith("hw_")
    assert len(secret) >= 43  # 256 bits
    (kept,) = (await admin.get("/tokens")).json["tokens"]
    assert kept == {
        "id": made.json["id"],
        "name": "laptop",
        "scope": "read",
        "created_at": "2026-01-05T12:00:00Z",
        "last_used_at": None,
        "revoked_at": None,
    }
    async with river.engine.database.read() as view:
        rows = await view.rows("SELECT * FROM api_tokens")
    assert secret not in repr(rows)


async def test_a_read_token_reads_and_writes_nothing(
    guarded: Callable[..., Api], river: River, virtual_clock: VirtualClock
) -> None:
    admin = guarded()
    feed_id = await river.feed()
    secret = (await admin.post("/tokens", {"name": "r"})).json["token"]
    reader = guarded(secret)
    await virtual_clock.advance(5)
    assert (await reader.get("/feeds")).status == 200
    for answer in (
        await reader.delete(f"/feeds/{feed_id}"),
        await reader.post("/feeds", {"url": "https://a.example/"}),
        await reader.get("/status"),
        await reader.get("/tokens"),
    ):
        assert (answer.status, answer.error) == (403, "forbidden")
    (kept,) = (await admin.get("/tokens")).json["tokens"]
    assert kept["last_used_at"] == "2026-01-05T12:00:05Z"


async def test_the_last_use_is_noted_once_a_minute_whatever_the_clock_did(
    guarded: Callable[..., Api], virtual_clock: VirtualClock
) -> None:
    admin = guarded()
    reader = guarded((await admin.post("/tokens", {"name": "r"})).json["token"])

    async def noted() -> str:
        assert (await reader.get("/feeds")).status == 200
        (kept,) = (await admin.get("/tokens")).json["tokens"]
        return str(kept["last_used_at"])

    assert await noted() == "2026-01-05T12:00:00Z"
    await virtual_clock.advance(59)
    assert await noted() == "2026-01-05T12:00:00Z"
    await virtual_clock.advance(1)
    assert await noted() == "2026-01-05T12:01:00Z"
    virtual_clock.step(-86_400)
    assert await noted() == "2026-01-04T12:01:00Z"


async def test_an_admin_token_from_the_database_is_an_admin(guarded: Callable[..., Api]) -> None:
    secret = (await guarded().post("/tokens", {"name": "a", "scope": "admin"})).json["token"]
    assert (await guarded(secret).get("/status")).status == 200


async def test_a_token_without_a_right_here_opens_nothing(guarded: Callable[..., Api]) -> None:
    secret = (await guarded().post("/tokens", {"name": "p", "scope": "publish"})).json["token"]
    assert (await guarded(secret).get("/feeds")).status == 403


async def test_a_revoked_token_opens_nothing_from_that_moment(
    guarded: Callable[..., Api], virtual_clock: VirtualClock
) -> None:
    admin = guarded()
    made = (await admin.post("/tokens", {"name": "r"})).json
    for _ in range(2):
        revoked = await admin.delete(f"/tokens/{made['id']}")
        assert (revoked.status, revoked.json["revoked_at"]) == (200, "2026-01-05T12:00:00Z")
        await virtual_clock.advance(1)
    refused = await guarded(made["token"]).get("/feeds")
    assert (refused.status, refused.error) == (401, "unauthorized")
    for missing in ("999", "x", "-1", "9" * 30, "0" * 5000):
        assert (await admin.delete(f"/tokens/{missing}")).status == 404


async def test_odd_names_and_scopes_are_422(guarded: Callable[..., Api]) -> None:
    admin = guarded()
    for said in ({"name": ""}, {"name": "a\nb"}, {"name": "a", "scope": "root"}, {}):
        assert (await admin.post("/tokens", said)).status == 422


def test_a_token_longer_than_any_is_not_looked_for() -> None:
    assert bearer_token(["Bearer " + "x" * 512]) == "x" * 512
    assert bearer_token(["Bearer " + "x" * 513]) is None
