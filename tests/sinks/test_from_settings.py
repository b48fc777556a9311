"""Sinks that stand in the settings: read from file or environment, and kept true at every start."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest

from headwater.adapters.database import SqlDatabase
from headwater.core.errors import BadSettings
from headwater.core.values.keep import KEEP
from headwater.events.event_filter import EventFilter
from headwater.settings import Settings, hidden_secrets, load_settings
from headwater.sinks.from_settings import apply_sink_settings
from headwater.sinks.sink import BEGINNING, END, SinkDefinition, StartPosition
from headwater.sinks.sink_commands import open_secrets
from headwater.sinks.sink_rows import find_sink
from headwater.wiring.policies import sink_definitions
from tests.support.clock import VirtualClock
from tests.support.engine import opened_engine
from tests.support.fetcher_server import Receiver
from tests.support.sinks_api import FEED, HOOK, OTHER, SECRET, Desk, opened_desk

HOOKED = SinkDefinition("chat", "webhook", {"url": HOOK}, {"secret": SECRET})
TAP = SinkDefinition("tap", "ndjson")


@pytest.fixture(autouse=True)
def nothing_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in Settings.model_fields:
        monkeypatch.delenv(f"HEADWATER_{name.upper()}", raising=False)
    monkeypatch.delenv("HEADWATER_CONFIG", raising=False)


@pytest.fixture
async def desk(
    database: SqlDatabase, virtual_clock: VirtualClock, tmp_path: Path
) -> AsyncIterator[Desk]:
    async with opened_desk(database, virtual_clock, tmp_path) as desk:
        yield desk


async def started(desk: Desk, *wishes: SinkDefinition, most: int = 100) -> None:
    """A service starts with these in its settings."""
    await apply_sink_settings(desk.engine.sinks, wishes, most=most)


async def names_of(desk: Desk) -> list[str]:
    return [each["name"] for each in (await desk.api.get("/sinks")).json["sinks"]]


def test_file_and_environment_say_the_same(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    file = tmp_path / "headwater.toml"
    file.write_text(
        f"""
        [[sinks]]
        name = "chat"
        kind = "webhook"
        options = {{ url = "{HOOK}", timeout_sec = 5 }}
        secrets = {{ secret = "{SECRET}" }}
        wanted = {{ types = ["new_entry"], feeds = ["{FEED}"] }}
        max_attempts = 4
        from = 2026-01-05T12:00:00Z

        [[sinks]]
        name = "tap"
        kind = "ndjson"
        enabled = false
        from = "beginning"
        """
    )
    monkeypatch.setenv("HEADWATER_CONFIG", str(file))
    from_file = sink_definitions(load_settings())
    assert from_file == [
        SinkDefinition(
            "chat",
            "webhook",
            {"url": HOOK, "timeout_sec": 5},
            {"secret": SECRET},
            EventFilter(("new_entry",), (FEED,)),
            max_attempts=4,
            start=StartPosition(moment=1_767_614_400_000_000),
        ),
        SinkDefinition("tap", "ndjson", enabled=False, start=BEGINNING),
    ]
    said = [
        {
            "name": "chat",
            "kind": "webhook",
            "options": {"url": HOOK, "timeout_sec": 5},
            "secrets": {"secret": SECRET},
            "wanted": {"types": ["new_entry"], "feeds": [FEED]},
            "max_attempts": 4,
            "from": "2026-01-05T12:00:00+00:00",
        },
        {"name": "tap", "kind": "ndjson", "enabled": False, "from": "beginning"},
    ]
    monkeypatch.delenv("HEADWATER_CONFIG")
    monkeypatch.setenv("HEADWATER_SINKS", orjson.dumps(said).decode())
    assert sink_definitions(load_settings()) == from_file


def test_what_is_not_said_is_the_kinds_own_affair() -> None:
    (usual, never) = sink_definitions(
        load_settings(
            sinks=[
                {"name": "a", "kind": "webhook"},
                {"name": "b", "kind": "webhook", "max_attempts": None, "from": 7},
            ]
        )
    )
    assert (usual.max_attempts, usual.start) == (KEEP, END)
    assert (never.max_attempts, never.start) == (None, StartPosition(seq=7))


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("chat", "sinks.0"),
        ("[", "looks like JSON"),
        ('[{"kind": "webhook"}]', "sinks.0.name"),
        ('[{"name": "a"}]', "sinks.0.kind"),
        ('[{"name": "a", "kind": "webhook", "colour": "red"}]', "sinks.0.colour"),
        ('[{"name": "a", "kind": "webhook", "options": {"url": ["x"]}}]', "sinks.0.options.url"),
        ('[{"name": "a", "kind": "webhook", "secrets": {"secret": 5}}]', "sinks.0.secrets.secret"),
        ('[{"name": "a", "kind": "webhook", "wanted": {"moods": []}}]', "sinks.0.wanted.moods"),
        ('[{"name": "a", "kind": "webhook", "max_attempts": 0}]', "sinks.0.max_attempts"),
        ('[{"name": "a", "kind": "webhook", "from": "5"}]', "sinks.0.from"),
        ('[{"name": "a", "kind": "webhook", "from": 1.5}]', "sinks.0.from"),
        ('[{"name": "a", "kind": "webhook", "from": "2026-01-05T12:00:00"}]', "sinks.0.from"),
        ('[{"name": "a", "kind": "ndjson"}, {"name": "a", "kind": "nats"}]', "one sink twice"),
    ],
)
def test_a_sink_that_cannot_be_read_is_told_by_name(
    monkeypatch: pytest.MonkeyPatch, text: str, named: str
) -> None:
    monkeypatch.setenv("HEADWATER_SINKS", text)
    with pytest.raises(BadSettings) as refused:
        load_settings()
    assert named in refused.value.message


def test_events_that_cannot_be_wanted_are_told_by_the_sinks_name() -> None:
    settings = load_settings(sinks=[{"name": "a", "kind": "nats", "wanted": {"types": ["x"]}}])
    with pytest.raises(BadSettings, match="sinks: a: There is no such type"):
        sink_definitions(settings)


def test_shown_settings_hold_no_secret_of_a_sink() -> None:
    settings = load_settings(
        sinks=[
            {
                "name": "a",
                "kind": "webhook",
                "options": {"url": "https://me:geheim@x.example/?token=geheim&room=5"},
                "secrets": {"secret": "geheim"},
            }
        ]
    )
    (shown,) = hidden_secrets(settings)["sinks"]
    assert "geheim" not in str(shown) + repr(settings.sinks[0].secrets)
    assert shown["options"]["url"] == "https://x.example/?token=REDACTED&room=5"
    assert (shown["name"], shown["from"]) == ("a", "end")


async def test_what_the_settings_say_is_there_after_a_start(desk: Desk) -> None:
    await desk.tell(5)
    await started(desk, HOOKED, replace(TAP, start=BEGINNING, enabled=False))
    chat, tap = await desk.shown("chat"), await desk.shown("tap")
    assert (chat["origin"], chat["state"], chat["cursor"]) == ("settings", "active", 5)
    assert (tap["origin"], tap["state"], tap["cursor"]) == ("settings", "disabled", 0)
    assert SECRET not in str(await desk.rows("sinks"))


async def test_another_start_with_the_same_settings_touches_nothing(desk: Desk) -> None:
    await started(desk, HOOKED, TAP)
    await desk.tell(3)
    await desk.note(stopped="gone", failures=2, cursor=2)
    before = await desk.rows("sinks")
    await started(desk, TAP, HOOKED)
    assert await desk.rows("sinks") == before


@pytest.mark.parametrize(
    ("wish", "changed"),
    [
        (replace(HOOKED, options={"url": "https://other.example/"}), {"options"}),
        (replace(HOOKED, secrets={"secret": OTHER, "previous_secret": SECRET}), set()),
        (replace(HOOKED, wanted=EventFilter(types=("new_entry",))), {"wanted"}),
        (replace(HOOKED, max_attempts=None), {"max_attempts"}),
        (replace(HOOKED, enabled=False), {"enabled"}),
    ],
)
async def test_what_the_settings_say_now_counts_and_the_cursor_stays(
    desk: Desk, wish: SinkDefinition, changed: set[str]
) -> None:
    await desk.tell(3)
    await started(desk, replace(HOOKED, start=BEGINNING))
    await desk.note(cursor=2)
    before = await desk.shown()
    await started(desk, replace(wish, start=BEGINNING))
    after = await desk.shown()
    assert (after["cursor"], after["origin"]) == (2, "settings")
    told = {name for name in after if after[name] != before[name]}
    assert told - {"updated_at", "state"} == changed


async def test_a_new_secret_in_the_settings_signs_at_once(desk: Desk) -> None:
    await started(desk, HOOKED)
    both = {"secret": OTHER, "previous_secret": SECRET}
    await started(desk, replace(HOOKED, secrets=both))
    async with desk.engine.database.read() as view:
        sink = await find_sink(view, "chat")
    assert sink is not None
    assert open_secrets(desk.engine.vault, sink) == both


async def test_a_sink_that_left_the_settings_rests_and_can_come_back(desk: Desk) -> None:
    await desk.tell(4)
    await started(desk, HOOKED, TAP)
    await started(desk, TAP)
    left = await desk.shown()
    assert (left["origin"], left["state"], left["cursor"]) == ("api", "disabled", 4)
    await desk.tell(2)
    await started(desk, HOOKED, TAP)
    back = await desk.shown()
    assert (back["origin"], back["state"], back["cursor"], back["lag"]) == (
        "settings",
        "active",
        4,
        2,
    )


async def test_a_sink_that_left_the_settings_is_anybodys(desk: Desk) -> None:
    await started(desk, HOOKED)
    await started(desk)
    assert (await desk.api.patch("/sinks/chat", {"enabled": True})).json["state"] == "active"
    await started(desk)
    assert (await desk.shown())["state"] == "active"
    assert (await desk.api.delete("/sinks/chat")).status == 200


async def test_a_sink_made_by_hand_is_left_alone_or_taken_over_with_its_cursor(desk: Desk) -> None:
    await desk.made("mine")
    await desk.made("chat")
    await desk.tell(3)
    await started(desk, HOOKED)
    assert (await desk.shown("mine"))["origin"] == "api"
    taken = await desk.shown("chat")
    assert (taken["origin"], taken["cursor"], taken["lag"]) == ("settings", 0, 3)


@pytest.mark.parametrize(
    ("wishes", "why"),
    [
        ([TAP, replace(HOOKED, secrets={})], "sinks: chat: .*needs its secret"),
        ([TAP, replace(HOOKED, options={})], "sinks: chat: .*url"),
        ([TAP, replace(HOOKED, name="a b")], "sinks: a b: .*name"),
        ([TAP, replace(HOOKED, kind="pigeon")], "sinks: chat: .*pigeon"),
        ([TAP, replace(HOOKED, start=StartPosition(seq=9))], "sinks: chat: The log ends at 0"),
        ([TAP, replace(TAP, name="there")], "sinks: there: .*a webhook; a ndjson"),
        ([TAP, HOOKED, replace(TAP, name="b")], "sinks: There are 3 sinks"),
    ],
)
async def test_settings_that_cannot_be_met_are_refused_whole(
    desk: Desk, wishes: Sequence[SinkDefinition], why: str
) -> None:
    await desk.made("there")
    before = await desk.rows("sinks")
    with pytest.raises(BadSettings, match=why) as refused:
        await started(desk, *wishes, most=3)
    assert SECRET not in refused.value.message + str(refused.value.facts)
    assert await desk.rows("sinks") == before


async def test_two_processes_that_start_together_agree(
    desk: Desk,
    open_another: Callable[[], SqlDatabase],
    virtual_clock: VirtualClock,
    tmp_path: Path,
) -> None:
    async with opened_engine(open_another(), virtual_clock, tmp_path / "blobs") as other:
        await asyncio.gather(
            apply_sink_settings(desk.engine.sinks, [HOOKED, TAP], most=2),
            apply_sink_settings(other.sinks, [HOOKED, TAP], most=2),
        )
    assert sorted(await names_of(desk)) == ["chat", "tap"]


async def test_a_secret_that_does_not_open_is_sealed_anew_from_the_settings(desk: Desk) -> None:
    await started(desk, HOOKED)
    async with desk.engine.database.write() as tx:
        await tx.run("UPDATE sinks SET secrets = ?", b"sealed with another key")
    await started(desk, HOOKED)
    async with Receiver() as receiver:
        await started(desk, replace(HOOKED, options={"url": receiver.base_url}))
        assert (await desk.api.post("/sinks/chat/test")).json["delivered"] is True


async def test_the_api_does_not_change_what_stands_in_the_settings(desk: Desk) -> None:
    await started(desk, HOOKED)
    before = await desk.rows("sinks")
    for answer in (
        await desk.api.patch("/sinks/chat", {"enabled": False}),
        await desk.api.patch("/sinks/chat", {"enabled": True, "max_attempts": 3}),
        await desk.api.patch("/sinks/chat", {"options": {"timeout_sec": 3}}),
        await desk.api.post("/sinks/chat/rotate-secret"),
        await desk.api.delete("/sinks/chat"),
    ):
        assert (answer.status, answer.error) == (409, "conflict")
        assert answer.json["reason"] == "from_settings"
        assert "settings" in answer.json["message"]
    assert await desk.rows("sinks") == before


async def test_what_stands_in_the_settings_can_be_replayed_started_and_looked_after(
    desk: Desk,
) -> None:
    async with Receiver() as receiver:
        await desk.tell(3)
        await started(desk, replace(HOOKED, options={"url": receiver.base_url}))
        moved: dict[str, Any] = (
            await desk.api.post("/sinks/chat/replay", {"from": "beginning"})
        ).json
        assert (moved["cursor"], moved["lag"]) == (0, 3)
        assert (await desk.api.post("/sinks/chat/test")).json["delivered"] is True
        await desk.bury(2)
        retry = await desk.api.post("/sinks/chat/dead-letters/retry", {"all": True})
        assert retry.json["asked"] == 1
        await desk.note(stopped="failing_too_long")
        again = await desk.api.patch("/sinks/chat", {"enabled": True})
        assert (again.status, again.json["state"]) == (200, "active")


async def test_one_that_the_settings_switch_off_is_not_switched_on_by_the_api(desk: Desk) -> None:
    await started(desk, replace(HOOKED, enabled=False))
    refused = await desk.api.patch("/sinks/chat", {"enabled": True})
    assert (refused.status, refused.json["reason"]) == (409, "from_settings")
