"""Sinks and the event log from the command line, with no service and beside a running one."""

import json
import runpy
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.entrypoints.cli.conftest import Shell, settled
from tests.support.docs_pages import page
from tests.support.service import Origin, command, environment, origin_server, service, until
from tests.support.sinks_api import HOOK, OTHER, SECRET
from tests.support.webhook_thread import Hook, listening_hook

PLAIN = {"NO_COLOR": "1", "COLUMNS": "160", "TZ": "UTC"}


@pytest.fixture(scope="module")
def hook() -> Iterator[Hook]:
    with listening_hook() as running:
        yield running


@pytest.fixture
def alone(tmp_path: Path, hook: Hook, sqlite_template: Path) -> Shell:
    """Commands with no service at all."""
    settled(tmp_path, sqlite_template)
    hook.status = 204
    hook.heard.clear()
    data = {"HEADWATER_DATA_DIR": str(tmp_path), "HEADWATER_ALLOW_ADDRESSES": hook.address}
    return Shell(data | PLAIN)


def written(shell: Shell, sql: str, *values: Any) -> None:
    """What a deliverer would have written."""
    path = Path(shell.env["HEADWATER_DATA_DIR"]) / "headwater.db"
    with sqlite3.connect(path) as connection:
        connection.execute(sql, values)
    connection.close()


def test_no_sinks_say_how_to_make_one(alone: Shell) -> None:
    none = alone("sinks")
    assert none.code == 0
    assert none.out.startswith("No sinks. Make one: `headwater sinks add webhook NAME")
    assert alone("sinks", "--json").json == []


def test_a_webhook_is_made_and_its_secret_shown_once(alone: Shell) -> None:
    made = alone("sinks", "add", "webhook", "chat", f"url={HOOK}", "timeout_sec=5")
    assert made.code == 0, made.err
    told, secret = made.out.splitlines()
    assert told == "chat: active, at event 0."
    assert secret.startswith("whsec_")
    assert "not shown again" in made.err
    (listed,) = alone("sinks", "--json").json
    assert listed["options"] == {"url": HOOK, "timeout_sec": 5.0}
    shown = alone("sinks", "show", "chat")
    assert secret not in shown.out + alone("sinks", "show", "chat", "--json").out
    assert f"url={HOOK}, timeout_sec=5.0" in shown.out
    assert "36 for each event" in shown.out


@pytest.mark.parametrize("name", ["chat/dead-letters", "chat/x", "..", "."])
def test_a_name_does_not_lead_to_something_else(alone: Shell, name: str) -> None:
    assert alone("sinks", "add", "webhook", "chat", f"url={HOOK}").code == 0
    for words in (("show", name), ("dead", name), ("remove", name, "--yes")):
        refused = alone("sinks", *words)
        assert (refused.code, refused.out) == (4, "")
        assert refused.err == f"headwater: Nothing is called {name!r}.\n"
    assert [sink["name"] for sink in alone("sinks", "--json").json] == ["chat"]


def test_secrets_come_by_file_or_stdin(alone: Shell, tmp_path: Path) -> None:
    file = tmp_path / "secrets.json"
    file.write_text(json.dumps({"secret": SECRET}))
    made = alone("sinks", "add", "webhook", "chat", f"url={HOOK}", "--secrets", str(file), "--json")
    assert made.json["secret"] is None
    set_anew = alone("sinks", "set", "chat", "--secrets", "-", given=json.dumps({"secret": OTHER}))
    assert set_anew.out == "chat: changed.\n"
    bad = alone("sinks", "set", "chat", "--secrets", "-", given="nonsense")
    assert bad.code == 2


def test_events_are_chosen_and_all_are_wanted_again(alone: Shell) -> None:
    alone(
        "sinks", "add", "webhook", "chat", f"url={HOOK}", "--type", "new_entry", "--type=feed_gone"
    )
    wanted = alone("sinks", "show", "chat", "--json").json["wanted"]
    assert wanted == {"types": ["new_entry", "feed_gone"], "feeds": [], "categories": []}
    alone("sinks", "set", "chat", "--category", "news", "--category", "water")
    assert (
        "types new_entry, feed_gone; categories news, water" in alone("sinks", "show", "chat").out
    )
    both = alone("sinks", "set", "chat", "--everything", "--type", "new_entry")
    assert both.code == 2
    assert alone("sinks", "set", "chat", "--everything").code == 0
    wanted = alone("sinks", "show", "chat", "--json").json["wanted"]
    assert wanted == {"types": [], "feeds": [], "categories": []}
    nobody = alone("sinks", "set", "chat", "--feed", "weather")
    assert nobody.code == 4


def test_a_feed_is_named_as_anywhere_else(alone: Shell) -> None:
    made = alone("subscribe", "https://example.org/feed.xml", "--name", "News", "--json")
    alone("sinks", "add", "ndjson", "tap", "--feed", "https://example.org/feed.xml")
    wanted = alone("sinks", "show", "tap", "--json").json["wanted"]
    assert wanted["feeds"] == [made.json["feed_id"]]


@pytest.mark.parametrize(
    ("args", "code", "named"),
    [
        (("add", "pigeon", "a"), 2, "pigeon"),
        (("add", "webhook", "a"), 2, "url"),
        (("add", "webhook", "a b", f"url={HOOK}"), 2, "name"),
        (("add", "webhook", "a", "url"), 2, "KEY=VALUE"),
        (("add", "webhook", "a", f"url={HOOK}", "colour=red"), 2, "colour"),
        (("add", "webhook", "a", f"url={HOOK}", "--from", "soon"), 2, "is not a time"),
        (("add", "webhook", "a", f"url={HOOK}", "--from", "7"), 2, "The log ends at 0"),
        (("add", "webhook", "a", f"url={HOOK}", "--type", "news"), 2, "type of event"),
        (("add", "webhook", "a", "url=http://10.1.2.3/"), 2, "HEADWATER_ALLOW_ADDRESSES"),
        (("set", "chat"), 2, "Say what is to change"),
        (("show", "nobody"), 4, "no such sink"),
        (("remove", "chat"), 2, "--yes"),
        (("retry", "chat"), 2, "--all"),
        (("retry", "chat", "5", "--all"), 2, "--all"),
        (("forget", "chat"), 2, "--all"),
        (("add", "webhook", "chat", f"url={HOOK}"), 3, "of this name already"),
    ],
)
def test_what_does_not_work_is_said_and_makes_nothing(
    alone: Shell, args: tuple[str, ...], code: int, named: str
) -> None:
    alone("sinks", "add", "webhook", "chat", f"url={HOOK}")
    before = alone("sinks", "--json").json
    refused = alone("sinks", *args)
    assert (refused.code, refused.out) == (code, "")
    assert named in refused.err
    assert alone("sinks", "--json").json == before


def test_with_json_a_refusal_is_the_envelope(alone: Shell) -> None:
    refused = alone("sinks", "add", "webhook", "a", "--json")
    assert (refused.error["error"], refused.error["field"]) == ("bad_input", "url")


def test_a_sink_is_switched_off_and_on_and_taken_away(alone: Shell) -> None:
    alone("sinks", "add", "ndjson", "tap", "path=tap", "--disabled")
    assert alone("sinks", "enable", "tap").out == "tap: active.\n"
    assert alone("sinks", "disable", "tap").out == "tap: disabled.\n"
    assert alone("sinks", "set", "tap", "path=", "raw=false").code == 0
    options = alone("sinks", "show", "tap", "--json").json["options"]
    assert (options["path"], options["raw"]) == (".", False)
    assert alone("sinks", "remove", "tap", "--yes").out == "tap: removed.\n"
    assert alone("sinks", "--json").json == []


def test_a_test_message_is_sent_and_what_came_of_it_is_the_exit_code(
    alone: Shell, hook: Hook
) -> None:
    alone("sinks", "add", "webhook", "chat", f"url={hook.url}")
    good = alone("sinks", "test", "chat")
    assert (good.code, good.out) == (0, "chat: took it.\n")
    assert hook.heard[-1].json["type"] == "test"
    hook.status = 500
    bad = alone("sinks", "test", "chat")
    assert bad.code == 1
    assert bad.out == "chat: did not: http_500\n"
    assert alone("sinks", "test", "chat", "--json").json["error"] == "http_500"


def test_the_page_tells_receivers_how_to_check_what_they_get(
    alone: Shell, hook: Hook, tmp_path: Path
) -> None:
    """The sample of docs/sinks.md, run on what is really sent."""
    (sample,) = [
        part.partition("```")[0] for part in page("docs/sinks.md").split("```python\n")[1:]
    ]
    assert len([line for line in sample.splitlines() if line]) <= 15
    file = tmp_path / "receiving.py"
    file.write_text(sample)
    verified = runpy.run_path(str(file))["verified"]
    made = alone("sinks", "add", "webhook", "chat", f"url={hook.url}", "--json").json
    alone("sinks", "test", "chat")
    heard = hook.heard[-1]
    assert verified(made["secret"], heard.headers, heard.body) == heard.body
    new = alone("sinks", "rotate", "chat", "--json").json["secret"]
    alone("sinks", "test", "chat")
    heard = hook.heard[-1]
    for secret in (made["secret"], new):
        assert verified(secret, heard.headers, heard.body) == heard.body
    for headers, body in (
        (heard.headers, heard.body + b" "),
        (heard.headers | {"webhook-id": "another"}, heard.body),
        (heard.headers | {"webhook-signature": "v1,bm8="}, heard.body),
        (heard.headers | {"webhook-timestamp": "1767614400"}, heard.body),
    ):
        with pytest.raises(ValueError, match=r"signed by somebody else|too long ago"):
            verified(made["secret"], headers, body)
    with pytest.raises(ValueError, match="signed by somebody else"):
        verified(OTHER, heard.headers, heard.body)


def test_a_secret_is_changed_in_two_steps(alone: Shell) -> None:
    alone("sinks", "add", "webhook", "chat", f"url={HOOK}")
    turned = alone("sinks", "rotate", "chat")
    told, secret = turned.out.splitlines()
    assert (told, secret[:6]) == ("chat: both secrets sign now.", "whsec_")
    assert alone("sinks", "rotate", "chat").code == 3
    finished = alone("sinks", "rotate", "chat", "--finish")
    assert finished.out == "chat: only the new secret signs from now on.\n"


def test_dead_letters_are_shown_tried_again_and_let_go(alone: Shell) -> None:
    alone("sinks", "add", "webhook", "chat", f"url={HOOK}")
    assert alone("sinks", "dead", "chat").out == "chat has no dead letters.\n"
    for seq in (3, 4, 5):
        written(
            alone,
            "INSERT INTO dead_letters VALUES (1, ?, 'x', 'new_entry', 3, 'http_422', 'no', 0, 0)",
            seq,
        )
    assert "http_422: no" in alone("sinks", "dead", "chat").out
    assert [each["seq"] for each in alone("sinks", "dead", "chat", "-n2", "--json").json] == [3, 4]
    once_more = alone("sinks", "retry", "chat", "3", "4")
    assert once_more.out == "chat: 2 dead letters will be tried again.\n"
    assert "asked for" in alone("sinks", "dead", "chat").out
    assert alone("sinks", "forget", "chat", "3").out == "chat: 1 dead letter let go.\n"
    assert alone("sinks", "forget", "chat", "--all", "--json").json["forgotten"] == 2


def test_trouble_is_in_the_table(alone: Shell) -> None:
    alone("sinks", "add", "webhook", "chat", f"url={HOOK}")
    written(alone, "UPDATE sinks SET failures = 2, last_error = 'timeout', last_detail = '10 s'")
    table = alone("sinks").out
    assert "waiting" in table
    assert "timeout: 10 s" in table
    written(alone, "UPDATE sinks SET stopped = 'gone'")
    assert "stopped" in alone("sinks").out


def test_an_event_that_is_refused_and_tried_again_is_in_the_table_too(alone: Shell) -> None:
    alone("sinks", "add", "webhook", "chat", f"url={HOOK}")
    written(alone, "UPDATE sinks SET attempts = 2, last_error = 'http_422', last_detail = 'no'")
    assert "http_422: no" in alone("sinks").out


def test_the_log_is_listed_newest_last_and_replayed_to_a_sink(alone: Shell) -> None:
    for number in range(3):
        alone("subscribe", f"https://example.org/{number}.xml")
    alone("subscriptions", "set", "1", "name=First")
    newest = alone("events", "--limit", "2", "--json").json
    assert [each["seq"] for each in newest] == [3, 4]
    created = alone("events", "--type", "subscription_created", "-n2", "--json").json
    assert [each["seq"] for each in created] == [2, 3]
    after = alone("events", "--after", "1", "-n2", "--json").json
    assert [each["seq"] for each in after] == [2, 3]
    of_one = alone("events", "--feed", "https://example.org/0.xml", "--json").json
    assert [each["seq"] for each in of_one] == [1, 4]
    assert "https://example.org/2.xml" in alone("events").out
    assert alone("events", "--after", "4").out == "No events there.\n"
    assert alone("events", "--type", "news").code == 2
    alone("sinks", "add", "webhook", "chat", f"url={HOOK}")
    told = alone("events", "replay", "--sink", "chat", "--from", "3")
    assert told.out == "chat: goes on after event 2, 2 to deliver.\n"
    alone("sinks", "disable", "chat")
    waits = alone("events", "replay", "--sink", "chat", "--from", "3")
    assert "It is disabled: `headwater sinks enable chat` starts it again." in waits.err
    whole = alone("events", "replay", "--sink", "chat", "--from", "beginning", "--json").json
    assert (whole["cursor"], whole["replays"]) == (0, 3)
    timely = alone("events", "replay", "--sink", "chat", "--from", "1h", "--json").json
    assert timely["cursor"] == 0
    assert alone("events", "replay", "--sink", "nobody", "--from", "1").code == 4
    assert alone("events", "replay", "--sink", "chat", "--from", "99").code == 2


def test_a_sink_may_begin_with_the_first_event(alone: Shell) -> None:
    alone("subscribe", "https://example.org/1.xml")
    made = alone("sinks", "add", "ndjson", "tap", "--from", "beginning", "--json").json
    assert (made["cursor"], made["lag"]) == (0, 1)
    assert alone("sinks", "add", "ndjson", "now", "--json").json["cursor"] == 1
    timely = alone("sinks", "add", "ndjson", "timely", "--from", "1d", "--json").json
    assert timely["cursor"] == 0


@pytest.fixture(scope="module")
def origin() -> Iterator[Origin]:
    with origin_server() as running:
        yield running


def test_a_service_tells_the_sinks_of_its_settings(
    tmp_path: Path, origin: Origin, hook: Hook
) -> None:
    hook.status = 204
    hook.heard.clear()
    sink = {
        "name": "chat",
        "kind": "webhook",
        "options": {"url": hook.url},
        "secrets": {"secret": SECRET},
        "wanted": {"types": ["new_entry"]},
    }
    env = environment(tmp_path, origin, HEADWATER_SINKS=json.dumps([sink]))
    env["HEADWATER_ALLOW_ADDRESSES"] += f",{hook.address}"
    sh = Shell(env | PLAIN)
    with service(env) as running:
        assert sh("add", origin.url("/feed.xml")).code == 0
        until(lambda: len(hook.heard) >= 2)
        assert {each.json["type"] for each in hook.heard} == {"new_entry"}
        listed = until(lambda: next(done(sh), None))
        assert (listed["origin"], listed["state"]) == ("settings", "active")
        refused = sh("sinks", "disable", "chat")
        assert (refused.code, "settings" in refused.err) == (3, True)
        assert sh("events", "replay", "--sink", "chat", "--from", "beginning").code == 0
        until(lambda: len(hook.heard) >= 4)
        ids = [each.json["id"] for each in hook.heard]
        assert ids[2:4] == ids[:2]
        assert SECRET not in sh("settings").out
        ended = running.stop()
    assert SECRET not in ended.out + ended.err


def done(sh: Shell) -> Iterator[dict[str, Any]]:
    """Sinks that have everything."""
    yield from (each for each in sh("sinks", "--json").json if not each["lag"])


def test_a_service_does_not_start_with_a_sink_that_cannot_be(tmp_path: Path) -> None:
    bad = json.dumps([{"name": "chat", "kind": "webhook", "options": {"url": HOOK}}])
    env = environment(tmp_path, HEADWATER_SINKS=bad)
    refused = command(env, "run", "--port", "0")
    assert refused.code == 2
    assert "sinks: chat: A webhook in the settings needs its secret there." in refused.err
