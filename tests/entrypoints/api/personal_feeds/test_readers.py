"""Readers over HTTP: made, renamed, removed; tokens shown once, rotated with a grace, revoked."""

import asyncio
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from lxml import etree

from headwater.auth.tokens import token_hash
from headwater.core import idempotency_rows
from headwater.core.errors import ConnectionLost
from headwater.core.idempotency import attempt_of
from headwater.core.values.instant import to_micros
from headwater.personal_feeds.ports import FeedReader, ReaderToken
from headwater.publish.opml import parse_opml
from tests.support.api_caller import Answer, Api
from tests.support.clock import VirtualClock
from tests.support.engine_parts import EngineParts
from tests.support.origin import Post, rss
from tests.support.scripted_engine import River

HOUR = 3_600.0
NOON = "2026-01-05T12:00:00Z"


async def reader(api: Api, name: str = "Ada", *categories: str) -> str:
    made = await api.post("/readers", {"name": name, "categories": list(categories)})
    assert made.status == 201, made.body
    return str(made.json["id"])


async def token(api: Api, reader_id: str) -> dict[str, Any]:
    made = await api.post(f"/readers/{reader_id}/tokens")
    assert made.status == 201, made.body
    return dict(made.json)


async def opens(engine: EngineParts, secret: str) -> str | None:
    """Whose feed a token opens now, by the store's own word."""
    now = to_micros(engine.clock.now())
    holder = await engine.personal.holder(token_hash(secret), secret, now)
    return None if holder is None else holder.reader.id


# Readers -------------------------------------------------------------------------------------


async def test_a_reader_is_made_found_and_listed(api: Api) -> None:
    made = await api.post("/readers", {"name": "Ada", "categories": ["garden", "sea: tides"]})
    assert made.status == 201
    assert made.json == {
        "id": made.json["id"],
        "name": "Ada",
        "categories": ["garden", "sea: tides"],
        "created_at": NOON,
        "updated_at": NOON,
    }
    assert made.headers["location"] == f"/readers/{made.json['id']}"
    assert (await api.get(made.headers["location"])).json == made.json
    assert (await api.get("/readers")).json == {"readers": [made.json], "next_cursor": None}
    assert (await api.get("/readers?name=Ada")).json["readers"] == [made.json]
    assert (await api.get("/readers?name=ada")).json["readers"] == []


async def test_readers_are_listed_in_the_order_they_were_made_page_by_page(
    api: Api, virtual_clock: VirtualClock
) -> None:
    for name in ("Mo", "Ada", "Zoë"):
        await reader(api, name)
        await virtual_clock.advance(1)
    first = (await api.get("/readers?limit=2")).json
    assert [each["name"] for each in first["readers"]] == ["Mo", "Ada"]
    rest = (await api.get(f"/readers?limit=2&cursor={first['next_cursor']}")).json
    assert [each["name"] for each in rest["readers"]] == ["Zoë"]
    assert rest["next_cursor"] is None
    assert (await api.get("/readers?cursor=x")).error == "bad_cursor"


async def test_readers_of_one_moment_are_each_listed_once(api: Api) -> None:
    names = {f"r{number}" for number in range(7)}
    for name in sorted(names):
        await reader(api, name)
    seen: list[str] = []
    target = "/readers?limit=3"
    while target:
        page = (await api.get(target)).json
        seen += [each["name"] for each in page["readers"]]
        more = page["next_cursor"]
        target = f"/readers?limit=3&cursor={more}" if more else ""
    assert len(seen) == 7
    assert set(seen) == names


async def test_only_what_is_named_changes(api: Api, virtual_clock: VirtualClock) -> None:
    known = await reader(api, "Ada", "garden")
    await virtual_clock.advance(60)
    renamed = await api.patch(f"/readers/{known}", {"name": "Ada L."})
    assert (renamed.json["name"], renamed.json["categories"]) == ("Ada L.", ["garden"])
    assert (renamed.json["created_at"], renamed.json["updated_at"]) == (
        NOON,
        "2026-01-05T12:01:00Z",
    )
    followed = await api.patch(f"/readers/{known}", {"categories": ["sea", "garden"]})
    assert (followed.json["name"], followed.json["categories"]) == ("Ada L.", ["sea", "garden"])
    nothing = await api.patch(f"/readers/{known}", {"categories": []})
    assert nothing.json["categories"] == []
    assert (await api.patch(f"/readers/{known}", {})).json == nothing.json


async def test_a_name_is_there_once(api: Api) -> None:
    await reader(api, "Ada")
    other = await reader(api, "Mo")
    again = await api.post("/readers", {"name": "Ada"})
    assert (again.status, again.error) == (409, "conflict")
    renamed = await api.patch(f"/readers/{other}", {"name": "Ada"})
    assert (renamed.status, renamed.error) == (409, "conflict")
    assert (await api.patch(f"/readers/{other}", {"name": "Mo"})).status == 200


async def test_a_removed_reader_takes_the_tokens_along(api: Api, engine: EngineParts) -> None:
    known = await reader(api)
    secret = (await token(api, known))["token"]
    assert await opens(engine, secret) == known
    gone = await api.delete(f"/readers/{known}")
    assert gone.json == {"id": known, "name": "Ada", "removed": True}
    assert await opens(engine, secret) is None
    assert (await api.delete(f"/readers/{known}")).status == 404
    assert (await api.get("/readers")).json["readers"] == []
    assert await reader(api, "Ada") != known


ODD = ["*", "[a-z]", "a:b", "..", "%", "_", " two  blanks ", "a/b", "\N{SNOWMAN}", "new\nline", "'"]


async def test_names_of_categories_are_exact_texts_and_nothing_in_them_is_a_pattern(
    api: Api,
) -> None:
    known = await reader(api, "Ada", *ODD, "x" * 1_024)
    assert (await api.get(f"/readers/{known}")).json["categories"] == [*ODD, "x" * 1_024]


ODD_READERS: list[dict[str, Any]] = [
    {},
    {"name": ""},
    {"name": "  "},
    {"name": "a\nb"},
    {"name": "a\x00b"},
    {"name": "x" * 201},
    {"name": None},
    {"name": 7},
    {"name": "Ada", "categories": [""]},
    {"name": "Ada", "categories": ["a\x00b"]},
    {"name": "Ada", "categories": ["x" * 1_025]},
    {"name": "Ada", "categories": ["a", "a"]},
    {"name": "Ada", "categories": "a"},
    {"name": "Ada", "categories": [str(number) for number in range(501)]},
    {"name": "Ada", "id": "mine"},
    {"name": "Ada", "created_at": NOON},
]


async def test_odd_readers_are_422(api: Api) -> None:
    for said in ODD_READERS:
        refused = await api.post("/readers", said)
        assert (refused.status, said) == (422, said)
        assert refused.error in ("bad_input", "validation_error")
    assert (await api.get("/readers")).json["readers"] == []


async def test_half_a_character_is_no_name(api: Api) -> None:
    for body in (rb'{"name": "\ud800"}', rb'{"name": "Ada", "categories": ["\ud800"]}'):
        refused = await api.ask("POST", "/readers", body)
        assert refused.status == 422


async def test_there_is_nobody_under_an_odd_id(api: Api) -> None:
    for odd in ("%00", "nobody", "%2e%2e", "x" * 2_000, "%F0%9F%A6%86"):
        for answer in (
            await api.get(f"/readers/{odd}"),
            await api.patch(f"/readers/{odd}", {"name": "Ada"}),
            await api.delete(f"/readers/{odd}"),
            await api.get(f"/readers/{odd}/tokens"),
            await api.post(f"/readers/{odd}/tokens"),
            await api.delete(f"/readers/{odd}/tokens/{odd}"),
            await api.post(f"/readers/{odd}/tokens/{odd}/rotate"),
            await api.get(f"/readers/{odd}/opml"),
        ):
            assert (answer.status, answer.error) == (404, "not_found")


async def test_settings_bound_readers_categories_and_tokens(guarded: Callable[..., Api]) -> None:
    api = guarded(
        personal_readers_max=2,
        personal_reader_categories_max=2,
        personal_reader_tokens_max=2,
        personal_categories=["garden", "sea", "home"],
    )
    many = await api.post("/readers", {"name": "A", "categories": ["garden", "sea", "home"]})
    assert (many.status, many.json["personal_reader_categories_max"]) == (422, 2)
    unknown = await api.post("/readers", {"name": "A", "categories": ["Garden"]})
    assert (unknown.status, unknown.json["allowed"]) == (422, ["garden", "home", "sea"])
    known = await reader(api, "A", "garden", "sea")
    assert (await api.patch(f"/readers/{known}", {"categories": ["*"]})).status == 422
    await reader(api, "B")
    assert (await api.post("/readers", {"name": "C"})).status == 409
    for _ in range(2):
        await token(api, known)
    refused = await api.post(f"/readers/{known}/tokens")
    assert (refused.status, refused.error) == (409, "conflict")


async def test_only_an_admin_may_look_after_readers(guarded: Callable[..., Api]) -> None:
    admin = guarded()
    known = await reader(admin, "Ada")
    made = await token(admin, known)
    weak = [
        (await admin.post("/tokens", {"name": scope, "scope": scope})).json["token"]
        for scope in ("read", "publish", "register")
    ]
    for secret in weak:
        caller = guarded(secret)
        for answer in (
            await caller.get("/readers"),
            await caller.get(f"/readers/{known}/tokens"),
            await caller.post(f"/readers/{known}/tokens"),
            await caller.get(f"/readers/{known}/opml"),
        ):
            assert (answer.status, answer.error) == (403, "forbidden")
    for nobody in (guarded(None), guarded(made["token"])):
        assert (await nobody.get("/readers")).status == 401


# Tokens --------------------------------------------------------------------------------------


async def test_a_token_is_shown_once_with_the_addresses_it_opens(
    api: Api, engine: EngineParts, virtual_clock: VirtualClock
) -> None:
    known = await reader(api, "Ada", "garden")
    made = await token(api, known)
    secret = made.pop("token")
    assert secret.startswith("hwr_")
    assert len(secret) == 4 + 43  # 256 bits in base64
    base = "http://127.0.0.1:8470"
    assert made.pop("urls") == {
        "rss": f"{base}/rss?token={secret}",
        "atom": f"{base}/atom?token={secret}",
        "json_feed": f"{base}/feed.json?token={secret}",
        "opml": f"{base}/opml?token={secret}",
    }
    assert made == {
        "id": made["id"],
        "reader_id": known,
        "hint": secret[:8],
        "state": "open",
        "created_at": NOON,
        "until": None,
        "revoked_at": None,
        "last_used_at": None,
    }
    assert await opens(engine, secret) == known
    assert (await api.get(f"/readers/{known}/tokens")).json == {
        "reader_id": known,
        "tokens": [made],
    }
    for where in ("/readers", f"/readers/{known}", f"/readers/{known}/tokens"):
        assert secret.encode() not in (await api.get(where)).body


async def test_the_address_is_the_public_one(guarded: Callable[..., Api]) -> None:
    api = guarded(public_base_url="https://feeds.example.org/river/")
    made = await token(api, await reader(api))
    assert made["urls"]["rss"] == f"https://feeds.example.org/river/rss?token={made['token']}"


async def test_nothing_that_is_kept_holds_a_token(api: Api, engine: EngineParts) -> None:
    known = await reader(api)
    first = (await api.post(f"/readers/{known}/tokens", {}, idempotency_key="k")).json
    target = f"/readers/{known}/tokens/{first['id']}/rotate"
    second = (await api.post(target, {}, idempotency_key="l")).json
    async with engine.database.read() as view:
        rows = [
            *await view.rows("SELECT * FROM reader_tokens"),
            *await view.rows("SELECT * FROM idempotency"),
        ]
    kept = repr([tuple(row) for row in rows])
    assert first["token"][8:] not in kept
    assert second["token"][8:] not in kept


async def test_a_rotated_token_works_until_its_grace_is_over(
    api: Api, engine: EngineParts, virtual_clock: VirtualClock
) -> None:
    known = await reader(api)
    old = await token(api, known)
    turned = await api.post(f"/readers/{known}/tokens/{old['id']}/rotate", {"grace_hours": 2})
    assert turned.status == 200
    new = turned.json
    assert new["token"] != old["token"]
    assert new["urls"]["rss"].endswith(new["token"])
    assert new["state"] == "open"
    assert new["replaces"]["id"] == old["id"]
    assert (new["replaces"]["state"], new["replaces"]["until"]) == (
        "ending",
        "2026-01-05T14:00:00Z",
    )
    await virtual_clock.advance(2 * HOUR - 1)
    assert await opens(engine, old["token"]) == known
    await virtual_clock.advance(1)
    assert await opens(engine, old["token"]) is None
    assert await opens(engine, new["token"]) == known
    states = [t["state"] for t in (await api.get(f"/readers/{known}/tokens")).json["tokens"]]
    assert states == ["ended", "open"]


async def test_the_grace_is_a_day_unless_a_setting_or_the_request_says_otherwise(
    guarded: Callable[..., Api], engine: EngineParts
) -> None:
    usual, short = guarded(), guarded(personal_grace_hours=0.5)
    known = await reader(usual)
    for api, said, until in (
        (usual, None, "2026-01-06T12:00:00Z"),
        (usual, {}, "2026-01-06T12:00:00Z"),
        (usual, {"grace_hours": None}, "2026-01-06T12:00:00Z"),
        (short, {}, "2026-01-05T12:30:00Z"),
        (short, {"grace_hours": 48}, "2026-01-07T12:00:00Z"),
    ):
        old = await token(api, known)
        turned = await api.post(f"/readers/{known}/tokens/{old['id']}/rotate", said)
        assert turned.json["replaces"]["until"] == until
    old = await token(usual, known)
    at_once = await usual.post(f"/readers/{known}/tokens/{old['id']}/rotate", {"grace_hours": 0})
    assert at_once.json["replaces"]["state"] == "ended"
    assert await opens(engine, old["token"]) is None


async def test_a_token_is_rotated_once_and_not_after_its_end(api: Api) -> None:
    known = await reader(api)
    old = await token(api, known)
    target = f"/readers/{known}/tokens/{old['id']}/rotate"
    assert (await api.post(target)).status == 200
    again = await api.post(target)
    assert (again.status, again.json["reason"]) == (409, "rotated")
    await api.delete(f"/readers/{known}/tokens/{old['id']}")
    ended = await api.post(target)
    assert (ended.status, ended.json["reason"]) == (409, "ended")
    for odd in (-1, 8_761, "x", True):
        assert (await api.post(target, {"grace_hours": odd})).status == 422
    assert (await api.ask("POST", target, b'{"grace_hours": Infinity}')).status in (400, 422)


async def test_all_tokens_of_a_reader_may_be_rotated_at_the_same_time(
    guarded: Callable[..., Api],
) -> None:
    api = guarded(personal_reader_tokens_max=2)
    known = await reader(api)
    first, second = await token(api, known), await token(api, known)
    for old in (first, second):
        assert (await api.post(f"/readers/{known}/tokens/{old['id']}/rotate")).status == 200
    there = (await api.get(f"/readers/{known}/tokens")).json["tokens"]
    assert [each["state"] for each in there] == ["ending", "ending", "open", "open"]
    # The old ones are still open: a fifth must wait, or its predecessor must end at once.
    target = f"/readers/{known}/tokens/{there[-1]['id']}/rotate"
    assert (await api.post(target)).status == 409
    assert (await api.post(target, {"grace_hours": 0})).status == 200


async def test_a_revoked_token_opens_nothing_and_revoking_twice_is_revoking_once(
    api: Api, engine: EngineParts, virtual_clock: VirtualClock
) -> None:
    known = await reader(api)
    made, other = await token(api, known), await token(api, known)
    for _ in range(2):
        revoked = await api.delete(f"/readers/{known}/tokens/{made['id']}")
        assert (revoked.status, revoked.json["state"]) == (200, "revoked")
        assert revoked.json["revoked_at"] == NOON
        await virtual_clock.advance(1)
    assert await opens(engine, made["token"]) is None
    assert await opens(engine, other["token"]) == known


async def test_a_reader_reaches_no_token_of_another(api: Api, engine: EngineParts) -> None:
    ada, mo = await reader(api, "Ada"), await reader(api, "Mo")
    made = await token(api, ada)
    assert (await api.delete(f"/readers/{mo}/tokens/{made['id']}")).status == 404
    assert (await api.post(f"/readers/{mo}/tokens/{made['id']}/rotate")).status == 404
    assert await opens(engine, made["token"]) == ada


# Idempotency ---------------------------------------------------------------------------------


async def test_a_repeated_request_makes_one_reader(api: Api) -> None:
    said = {"name": "Ada", "categories": ["garden"]}
    first = await api.post("/readers", said, idempotency_key="k")
    again = await api.post("/readers", said, idempotency_key="k")
    assert (again.status, again.body) == (201, first.body)
    assert again.headers["idempotent-replayed"] == "true"
    other = await api.post("/readers", {"name": "Mo"}, idempotency_key="k")
    assert (other.status, other.error) == (422, "idempotency_mismatch")


async def test_a_refused_request_frees_its_key(api: Api) -> None:
    await reader(api, "Ada")
    assert (await api.post("/readers", {"name": "Ada"}, idempotency_key="k")).status == 409
    assert (await api.post("/readers", {"name": "Mo"}, idempotency_key="k")).status == 201


async def test_a_repeated_request_makes_one_token_and_shows_it_once(api: Api) -> None:
    known = await reader(api)
    target = f"/readers/{known}/tokens"
    first = (await api.post(target, {}, idempotency_key="k")).json
    again = (await api.post(target, {}, idempotency_key="k")).json
    assert again == first | {"token": None, "urls": None}
    turned = (await api.post(f"{target}/{first['id']}/rotate", {}, idempotency_key="l")).json
    repeated = (await api.post(f"{target}/{first['id']}/rotate", {}, idempotency_key="l")).json
    assert repeated == turned | {"token": None, "urls": None}
    assert len((await api.get(target)).json["tokens"]) == 2


async def died_after(monkeypatch: pytest.MonkeyPatch, answer: Callable[[], Any]) -> None:
    """The request has its effect in the store, and its process dies before that is written down."""

    async def dies(*_: object) -> None:
        raise asyncio.CancelledError

    with monkeypatch.context() as patched:
        patched.setattr("headwater.personal_feeds.reader_commands.set_key_resource", dies)
        with pytest.raises(asyncio.CancelledError):
            await answer()


async def test_after_a_crash_behind_the_effect_the_retry_finds_what_was_made(
    api: Api, engine: EngineParts, virtual_clock: VirtualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The store and the keys may be two places: nothing is made twice for all that."""
    said = {"name": "Ada", "categories": ["garden"]}

    def make() -> Any:
        return api.post("/readers", said, idempotency_key="k")

    await died_after(monkeypatch, make)
    assert (await make()).error == "idempotency_in_progress"
    await virtual_clock.advance(HOUR)
    again: Answer = await make()
    assert (again.status, again.json["name"]) == (201, "Ada")
    assert len((await api.get("/readers")).json["readers"]) == 1

    known = again.json["id"]

    def issue() -> Any:
        return api.post(f"/readers/{known}/tokens", {}, idempotency_key="t")

    await died_after(monkeypatch, issue)
    await virtual_clock.advance(HOUR)
    issued: Answer = await issue()
    assert (issued.status, issued.json["token"], issued.json["urls"]) == (201, None, None)
    (there,) = (await api.get(f"/readers/{known}/tokens")).json["tokens"]
    assert there["id"] == issued.json["id"]

    def turn() -> Any:
        target = f"/readers/{known}/tokens/{there['id']}/rotate"
        return api.post(target, {"grace_hours": 2}, idempotency_key="r")

    began = engine.clock.now()
    await died_after(monkeypatch, turn)
    await virtual_clock.advance(HOUR)
    turned: Answer = await turn()
    assert (turned.status, turned.json["token"]) == (200, None)
    tokens = (await api.get(f"/readers/{known}/tokens")).json["tokens"]
    assert [each["state"] for each in tokens] == ["ending", "open"]
    until = tokens[0]["until"]
    assert until == f"{(began + timedelta(hours=2)).isoformat()[:-6]}Z", "the first grace counts"


async def test_when_only_the_answer_was_lost_the_retry_tells_of_the_same_token(
    api: Api, engine: EngineParts
) -> None:
    known = await reader(api)
    attempt = attempt_of("k", "loopback", "POST", f"/readers/{known}/tokens", b"{}")
    made = await token(api, known)
    async with engine.database.write() as tx:
        await idempotency_rows.claim_key(tx, attempt, engine.clock.now(), lease=timedelta(hours=1))
        await idempotency_rows.set_key_resource(tx, attempt.key_hash, made["id"])
    again = await api.post(f"/readers/{known}/tokens", {}, idempotency_key="k")
    assert (again.status, again.json["id"], again.json["token"]) == (201, made["id"], None)


# Trouble -------------------------------------------------------------------------------------


async def test_a_store_that_is_away_is_500_with_a_time_to_try_again(
    api: Api, engine: EngineParts, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def away(*_: object, **__: object) -> list[FeedReader]:
        raise ConnectionLost("no route to redis.internal:6379")

    monkeypatch.setattr(type(engine.personal), "readers", away)
    refused = await api.get("/readers")
    assert (refused.status, refused.error) == (500, "connection_error")
    assert refused.headers["retry-after"] == "5"
    assert b"redis.internal" not in refused.body


# Sources -------------------------------------------------------------------------------------


async def test_the_sources_of_a_reader_are_the_feeds_of_their_categories(
    api: Api, river: River
) -> None:
    for path, title, categories in (
        ("beets", "Beets", ["garden"]),
        ("tides?token=s3cret", "Tides", ["news", "sea: tides", "garden"]),
        ("cars", "Cars", ["roads"]),
        ("plain", "Plain", []),
        ("gone", "Gone", ["garden"]),
    ):
        url = river.web.serve(f"https://{path}", rss([Post("1", "First")], title=title))
        said = {"url": url, "title": title, "categories": categories, "visit": "later"}
        made = await api.post("/feeds", said)
        assert made.status in (201, 202), made.body
        if path == "gone":
            await api.delete(f"/feeds/{made.json['id']}")
    known = await reader(api, "Ada & Co", "sea: tides", "garden", "*")
    answer = await api.get(f"/readers/{known}/opml")
    assert answer.status == 200
    assert answer.headers["content-type"].startswith("text/x-opml")
    rows = [(row.url, row.title, row.categories) for row in parse_opml(answer.body)]
    assert rows == [
        ("https://beets/", "Beets", ("garden",)),
        ("https://tides/?token=REDACTED", "Tides", ("sea: tides", "garden")),
    ]
    assert b"s3cret" not in answer.body
    title = etree.fromstring(answer.body).findtext("head/title")
    assert title == "Sources of Ada & Co"
    again = await api.get(f"/readers/{known}/opml", if_none_match=answer.headers["etag"])
    assert again.status == 304


async def test_a_reader_of_nothing_has_no_sources(api: Api) -> None:
    answer = await api.get(f"/readers/{await reader(api)}/opml")
    assert parse_opml(answer.body) == ()


# Other tools' readers ------------------------------------------------------------------------


async def test_an_id_that_another_tool_gave_works_as_well(api: Api, engine: EngineParts) -> None:
    now = to_micros(engine.clock.now())
    theirs = FeedReader("user 42&co", "user 42&co", ("garden",), now, now)
    await engine.personal.add_reader(theirs, most=10)
    await engine.personal.add_token(
        ReaderToken("t 1", theirs.id, "abc", now), token_hash("abcdef"), most=10
    )
    assert (await api.get("/readers/user%2042%26co")).json["name"] == "user 42&co"
    turned = await api.post("/readers/user%2042%26co/tokens/t%201/rotate", {"grace_hours": 0})
    assert turned.status == 200
    assert await opens(engine, "abcdef") is None
    assert await opens(engine, turned.json["token"]) == "user 42&co"
