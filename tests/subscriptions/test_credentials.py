"""Private sources: their credentials reach their own origin, and nobody and nothing else."""

import json
import urllib.request
from base64 import b64encode
from pathlib import Path
from typing import Any

import pytest

from headwater.adapters.vault import open_vault
from headwater.feeds.commit_visits import CommitResult
from headwater.feeds.judge_visit import JudgedVisit
from headwater.subscriptions.seal_credentials import reseal_secrets
from tests.support.origin import OriginFeed, Post, Reply, Request
from tests.support.service import Service, command, environment, origin_server, service, until
from tests.support.subscriptions_world import ADDRESSES, World, bodies

HEADER, COOKIE, PASSWORD, TOKEN = "geheim-eins", "geheim-zwei", "geheim-drei", "geheim-vier"
EVERYTHING = {
    "headers": {"X-Odd-Name": HEADER},
    "cookies": {"sid": COOKIE},
    "basic": {"username": "me", "password": PASSWORD},
}
LOGIN = b64encode(f"me:{PASSWORD}".encode()).decode()
PLANTED = [HEADER.encode(), COOKIE.encode(), PASSWORD.encode(), TOKEN.encode(), LOGIN.encode()]

POSTS = [Post("1", "First")]
HOME, ELSEWHERE = ADDRESSES


def found_in(heap: bytes) -> list[bytes]:
    return [secret for secret in PLANTED if secret in heap]


def shown(request: Request) -> dict[str, str]:
    names = ("X-Odd-Name", "Cookie", "Authorization")
    return {name: value for name in names if (value := request.header(name)) is not None}


ALL_SHOWN = {
    "X-Odd-Name": HEADER,
    "Cookie": f"sid={COOKIE}",
    "Authorization": f"Basic {LOGIN}",
}


def is_fine(remembered: CommitResult) -> bool:
    return isinstance(remembered, JudgedVisit) and remembered.error is None


def private(world: World, path: str = "/private.xml", address: str = HOME) -> OriginFeed:
    return world.origin.feed(path, POSTS, address=address)


async def test_a_subscriptions_credentials_reach_its_own_origin(world: World) -> None:
    feed = private(world)
    made = await world.subscribed(feed.url)
    assert made["has_credentials"] is False
    put = await world.api.put(f"/subscriptions/{made['subscription_id']}/credentials", EVERYTHING)
    assert put.status == 200
    assert put.json == {
        "has_credentials": True,
        "kinds": ["headers", "cookies", "basic"],
        "origins": [f"http://{HOME}:{world.origin.port}"],
    }
    (remembered,) = await world.visit_all()
    assert is_fine(remembered)
    assert [shown(request) for request in feed.requests] == [ALL_SHOWN]
    look = await world.api.get(f"/subscriptions/{made['subscription_id']}")
    assert look.json["has_credentials"] is True


async def test_they_go_along_from_the_first_visit_when_they_come_with_the_subscription(
    world: World,
) -> None:
    feed = private(world)
    await world.subscribed(feed.url, credentials={"bearer": TOKEN})
    await world.visit_all()
    assert [shown(request) for request in feed.requests] == [{"Authorization": f"Bearer {TOKEN}"}]


async def test_adding_a_private_feed_shows_them_to_the_first_fetch_and_keeps_them(
    world: World,
) -> None:
    feed = private(world)
    added = await world.api.post("/feeds", {"url": feed.url, "credentials": EVERYTHING})
    assert added.status == 201
    await world.visit_all()
    assert [shown(request) for request in feed.requests] == [ALL_SHOWN] * 2
    assert found_in(bodies(added)) == []


async def test_a_feed_that_comes_back_is_asked_with_what_it_was_given_before(world: World) -> None:
    feed = private(world)
    added = await world.api.post("/feeds", {"url": feed.url, "credentials": {"bearer": TOKEN}})
    await world.api.delete(f"/feeds/{added.json['id']}")
    await world.clock.advance(60)
    again = await world.api.post("/feeds", {"url": feed.url})
    assert again.status == 201
    assert [shown(request) for request in feed.requests] == [
        {"Authorization": f"Bearer {TOKEN}"}
    ] * 2


async def test_no_other_origin_sees_them_after_a_redirect_nor_on_the_way_back(
    world: World,
) -> None:
    feed, other = private(world), private(world, "/other.xml", ELSEWHERE)
    back = private(world, "/back.xml")
    await world.subscribed(feed.url, credentials=EVERYTHING)
    feed.answer_next(Reply(302, headers={"Location": other.url}))
    other.answer_next(Reply(302, headers={"Location": back.url}))
    (remembered,) = await world.visit_all()
    assert is_fine(remembered)
    assert shown(feed.requests[0]) == ALL_SHOWN
    assert shown(other.requests[0]) == {}
    assert shown(back.requests[0]) == ALL_SHOWN  # home again: it is their own origin


async def test_a_feed_that_moved_for_good_does_not_take_them_along(world: World) -> None:
    feed, other = private(world), private(world, "/new.xml", ELSEWHERE)
    made = await world.subscribed(feed.url, credentials=EVERYTHING)
    feed.stand_in = Reply(301, headers={"Location": other.url})
    for _ in range(4):
        await world.visit_all(seconds=30 * 3_600)
    assert (await world.feed(made))["url"] == other.url
    assert shown(other.requests[-1]) == {}
    assert [shown(request) for request in other.requests] == [{}] * len(other.requests)
    # Setting them anew is a decision for the new address.
    put = await world.api.put(
        f"/subscriptions/{made['subscription_id']}/credentials", {"bearer": TOKEN}
    )
    assert put.json["origins"] == [f"http://{ELSEWHERE}:{world.origin.port}"]
    await world.visit_all()
    assert shown(other.requests[-1]) == {"Authorization": f"Bearer {TOKEN}"}


async def test_after_they_are_dropped_they_are_not_sent_once_more(world: World) -> None:
    feed = private(world)
    made = await world.subscribed(feed.url, credentials=EVERYTHING)
    where = f"/subscriptions/{made['subscription_id']}/credentials"
    for _ in range(2):
        gone = await world.api.delete(where)
        assert (gone.status, gone.json["has_credentials"]) == (200, False)
    await world.visit_all()
    assert [shown(request) for request in feed.requests] == [{}]


async def test_setting_them_brings_the_next_visit_forward_as_far_as_politeness_allows(
    world: World,
) -> None:
    feed = private(world)
    feed.stand_in = Reply(401, b"who are you?")
    made = await world.subscribed(feed.url)
    await world.visit_all()
    feed.stand_in = None
    await world.clock.advance(30)
    await world.api.put(f"/subscriptions/{made['subscription_id']}/credentials", {"bearer": TOKEN})
    planned = (await world.feed(made))["next_visit_at"]
    # A minute after the last visit (refetch_min_seconds), not at the end of the backoff.
    assert planned == "2026-01-05T13:01:00Z"


async def test_a_groups_credentials_reach_members_at_the_named_origins_only(world: World) -> None:
    near, far = private(world), private(world, "/far.xml", ELSEWHERE)
    group = await world.grouped("team")
    where = f"/groups/{group['group_id']}/credentials"
    put = await world.api.put(where, {"bearer": TOKEN, "origins": [near.url]})
    assert put.json == {
        "has_credentials": True,
        "kinds": ["bearer"],
        "origins": [f"http://{HOME}:{world.origin.port}"],
    }
    await world.subscribed(near.url, group_id=group["group_id"])
    await world.subscribed(far.url, group_id=group["group_id"])
    await world.visit_all()
    assert shown(near.requests[0]) == {"Authorization": f"Bearer {TOKEN}"}
    assert shown(far.requests[0]) == {}
    assert (await world.api.get(f"/groups/{group['group_id']}")).json["has_credentials"] is True
    await world.api.delete(where)
    await world.visit_all()
    assert shown(near.requests[-1]) == {}


async def test_a_group_of_several_origins_must_say_which_one_is_meant(world: World) -> None:
    group = await world.grouped("team")
    where = f"/groups/{group['group_id']}/credentials"
    assert (await world.api.put(where, {"bearer": TOKEN})).status == 422
    near, far = private(world), private(world, "/far.xml", ELSEWHERE)
    await world.subscribed(near.url, group_id=group["group_id"])
    alone = await world.api.put(where, {"bearer": TOKEN})
    assert alone.json["origins"] == [f"http://{HOME}:{world.origin.port}"]
    await world.subscribed(far.url, group_id=group["group_id"])
    refused = await world.api.put(where, {"bearer": TOKEN})
    assert (refused.status, refused.json["field"]) == (422, "origins")


async def test_a_members_own_credentials_win_name_by_name(world: World) -> None:
    feed = private(world)
    group = await world.grouped("team")
    made = await world.subscribed(feed.url, group_id=group["group_id"])
    await world.api.put(f"/groups/{group['group_id']}/credentials", EVERYTHING)
    await world.api.put(f"/subscriptions/{made['subscription_id']}/credentials", {"bearer": TOKEN})
    await world.visit_all()
    assert shown(feed.requests[0]) == ALL_SHOWN | {"Authorization": f"Bearer {TOKEN}"}


async def test_without_the_right_key_the_feed_fails_unasked_and_goes_on_when_it_is_back(
    world: World, tmp_path: Path
) -> None:
    feed, open_feed = private(world), private(world, "/open.xml")
    made = await world.subscribed(feed.url, credentials=EVERYTHING)
    await world.subscribed(open_feed.url)
    right, world.engine.vault = world.engine.vault, open_vault(None, tmp_path / "other.key")
    failed, fine = await world.visit_all()
    assert isinstance(failed, JudgedVisit)
    assert failed.error == "secret_unreadable"
    assert is_fine(fine)
    assert feed.requests == []
    about = await world.feed(made)
    assert (about["state"], about["last_error"]) == ("active", "secret_unreadable")
    world.engine.vault = right
    assert all(is_fine(each) for each in await world.visit_all(seconds=30 * 3_600))
    assert shown(feed.requests[0]) == ALL_SHOWN


async def test_sealed_credentials_cannot_be_moved_to_another_subscription(world: World) -> None:
    mine, theirs = private(world), private(world, "/theirs.xml")
    await world.subscribed(mine.url, credentials=EVERYTHING)
    other = await world.subscribed(theirs.url)
    (sealed,) = [each for each in await world.column("rss_subscriptions", "credentials") if each]
    async with world.engine.database.write() as tx:
        await tx.run(
            "UPDATE rss_subscriptions SET credentials = ? WHERE subscription_id = ?",
            sealed,
            other["subscription_id"],
        )
    await world.visit_all()
    assert shown(mine.requests[0]) == ALL_SHOWN
    assert theirs.requests == []
    assert (await world.feed(other))["last_error"] == "secret_unreadable"


async def a_new_key_and_one_lost(world: World, subscription_id: int, tmp_path: Path) -> str:
    """A key before the old one, and credentials that neither opens."""
    async with world.engine.database.write() as tx:
        await tx.run(
            "UPDATE rss_subscriptions SET credentials = ? WHERE subscription_id = ?",
            b"\x01" + bytes(60),
            subscription_id,
        )
    old, new = (world.blobs / "secret.key").read_text().strip(), b64encode(b"n" * 32).decode()
    world.engine.vault = open_vault(f"{new},{old}", tmp_path / "unused")
    return new


async def test_housekeeping_seals_everything_with_a_new_key_so_that_the_old_one_can_go(
    world: World, tmp_path: Path
) -> None:
    """Also what belongs to fetchers and sinks: it lies in the same vault."""
    feed, unreadable = private(world), private(world, "/unreadable.xml")
    made = await world.subscribed(feed.url, credentials=EVERYTHING)
    lost = await world.subscribed(unreadable.url, credentials={"bearer": TOKEN})
    joined = {"service_name": "far", "base_url": "http://127.0.0.1:9"}
    assert (await world.api.post("/services/register", joined)).status == 201
    hook = {"name": "hook", "kind": "webhook", "options": {"url": "http://127.0.0.1:9/"}}
    assert (await world.api.post("/sinks", hook)).status == 201
    new = await a_new_key_and_one_lost(world, lost["subscription_id"], tmp_path)
    assert await reseal_secrets(world.engine.database, world.engine.vault) == 3
    assert await reseal_secrets(world.engine.database, world.engine.vault) == 0
    world.engine.vault = open_vault(new, tmp_path / "unused")
    await world.visit_all()
    assert shown(feed.requests[0]) == ALL_SHOWN
    assert (await world.feed(made))["last_error"] is None
    assert (await world.feed(lost))["last_error"] == "secret_unreadable"
    (signing,) = [key for key in await world.column("fetcher_modules", "signing_key") if key]
    assert len(world.engine.vault.open(signing, about="fetcher:far")) >= 32
    (sealed,) = await world.column("sinks", "secrets")
    assert b"whsec_" in world.engine.vault.open(sealed, about="sink:hook")


async def test_nothing_that_is_stored_or_answered_holds_a_planted_secret(world: World) -> None:
    feed, refusing = private(world), private(world, "/refusing.xml")
    refusing.stand_in = Reply(401)  # without a body the headers stand with the visit
    group = await world.grouped("team")
    group_id = group["group_id"]
    answers = [
        await world.api.post(
            "/feeds",
            {"url": feed.url, "credentials": EVERYTHING},
            idempotency_key="one",
        )
    ]
    made = await world.subscribed(refusing.url, group_id=group_id, credentials={"bearer": TOKEN})
    own = f"/subscriptions/{made['subscription_id']}"
    answers += [
        await world.api.put(
            f"/groups/{group_id}/credentials", EVERYTHING | {"origins": [feed.url]}
        ),
        await world.api.put(f"{own}/credentials", EVERYTHING),
        await world.api.put(f"{own}/credentials", {"bearer": f"{TOKEN} {TOKEN}"}),
        await world.api.put(f"{own}/credentials", {"headers": {"Host": HEADER}}),
        await world.api.put(f"{own}/credentials", {"cookies": [COOKIE], "bearer": [TOKEN]}),
        await world.api.put(f"{own}/credentials", EVERYTHING | {"extra": PASSWORD}),
        await world.api.put("/subscriptions/999/credentials", EVERYTHING),
    ]
    assert [answer.status for answer in answers] == [201, 200, 200, 422, 422, 422, 422, 404]
    for _ in range(4):
        await world.visit_all(seconds=30 * 3_600)
    assert len(refusing.requests) == 4
    (fetch_id, *_) = await world.column("raw_fetches", "fetch_id")
    for path in (
        "/feeds", f"/feeds/{made['feed_id']}", f"/feeds/{made['feed_id']}/visits",
        f"/feeds/{made['feed_id']}/schedule", "/subscriptions", own, f"{own}/history",
        f"{own}/stats", "/groups", f"/groups/{group_id}", f"/groups/{group_id}/subscriptions",
        f"/raw/{fetch_id}?meta=1", f"/raw/{fetch_id}", "/events?limit=500", "/status",
        "/conflicts", "/fetcher-modules", "/openapi.json",
    ):  # fmt: skip
        answers.append(await world.api.get(path))
        assert answers[-1].status == 200, (path, answers[-1].body)
    assert found_in(bodies(*answers)) == []
    raw = (await world.api.get(f"/raw/{fetch_id}?meta=1")).json
    refusal = (await world.api.get(f"/feeds/{made['feed_id']}/visits")).json["visits"][0]
    for recorded in (raw["request_headers"], dict(refusal["request_headers"])):
        assert {name: recorded[name] for name in ALL_SHOWN} == dict.fromkeys(ALL_SHOWN, "REDACTED")
    assert found_in(await world.everything_stored()) == []


async def test_only_an_admin_may_set_them(world: World) -> None:
    for method in ("PUT", "DELETE"):
        for path in ("/subscriptions/1/credentials", "/groups/1/credentials"):
            answer = await world.api.ask(method, path, json.dumps(EVERYTHING).encode())
            assert answer.status == 404
            assert (await world.api.get(path)).status == 405


def told(running: Service, method: str, path: str, said: dict[str, Any]) -> dict[str, Any]:
    request = urllib.request.Request(
        running.url + path,
        json.dumps(said).encode(),
        {"Content-Type": "application/json"},
        method=method,
    )
    with urllib.request.urlopen(request, timeout=60) as answer:
        record: dict[str, Any] = json.loads(answer.read())
        return record


def test_neither_the_log_nor_the_data_folder_nor_an_opml_file_holds_a_planted_secret(
    tmp_path: Path,
) -> None:
    """A whole service at its most talkative, looked at from outside."""
    folder = tmp_path / "data"
    with origin_server() as origin:
        env = environment(folder, origin, HEADWATER_LOG_LEVEL="debug", HEADWATER_LOG_FORMAT="json")
        with service(env) as running:
            private = {"url": origin.url("/feed.xml"), "credentials": EVERYTHING}
            added = told(running, "POST", "/feeds", private)
            missing = {"source_url": origin.url("/nothing"), "credentials": {"bearer": TOKEN}}
            wanted = told(running, "POST", "/subscriptions", missing)
            own = f"/subscriptions/{wanted['subscription_id']}/credentials"
            told(running, "PUT", own, EVERYTHING)
            failing = f"/feeds/{wanted['feed_id']}"
            until(lambda: running.get(failing)[1]["last_error"] == "http_404")
            exported = command(env, "opml", "export")
            shown = command(env, "show", added["id"], "--json")
            ended = running.stop()
    heap = b"".join(
        path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != "secret.key"
    )
    assert b"River news" in heap, "the heap is the database and the blobs"
    assert '"outcome":"fetched"' in ended.err
    assert (exported.code, shown.code) == (0, 0)
    assert origin.url("/feed.xml") in exported.out
    said = f"{ended.out}{ended.err}{exported.out}{exported.err}{shown.out}".encode()
    assert found_in(heap) == []
    assert found_in(said) == []
    assert (folder / "secret.key").stat().st_mode & 0o777 == 0o600


async def test_secrets_that_no_key_opens_do_not_stand_before_those_that_one_does(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headwater.subscriptions.seal_credentials.RENEWED_AT_ONCE", 1)
    lost = await world.subscribed(private(world, "/lost.xml").url, credentials={"bearer": TOKEN})
    for path in ("/a.xml", "/b.xml"):
        await world.subscribed(private(world, path).url, credentials={"bearer": TOKEN})
    await a_new_key_and_one_lost(world, lost["subscription_id"], tmp_path)
    assert await reseal_secrets(world.engine.database, world.engine.vault) == 2
