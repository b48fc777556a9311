"""Subscriptions, fetchers, conflicts and groups from the command line, with no service running."""

import json
from pathlib import Path

import pytest

from headwater.entrypoints.cli.session import Session
from tests.entrypoints.cli.conftest import Shell
from tests.support.service import Origin

SHOW = "https://mikanani.me/RSS/Bangumi?bangumiId=3215"
NEWS = "https://example.org/feed.xml"


def test_a_source_goes_to_the_best_fetcher_that_can(alone: Shell) -> None:
    made = alone("subscribe", SHOW, "--name", "Test Anime")
    assert made.code == 0, made.err
    assert made.out == f"Subscription 1: {SHOW}, fetched by mikanani.\n"
    assert "start one with `headwater run`" in made.err
    (listed,) = alone("subscriptions", "--json").json
    assert (listed["source_url"], listed["name"]) == (SHOW, "Test Anime")
    assert listed["assignment_status"] == "auto_assigned"
    assert listed["last_fetched_at"] is None


def test_one_url_is_subscribed_to_once_however_it_is_spelt(alone: Shell) -> None:
    alone("subscribe", NEWS)
    again = alone("subscribe", "https://EXAMPLE.org:443/feed.xml#top")
    assert again.code == 3
    assert again.err == f"headwater: Subscription already exists for this URL: {NEWS}\n"


def test_a_chosen_fetcher_that_cannot_is_refused(alone: Shell) -> None:
    refused = alone("subscribe", NEWS, "--fetcher", "mikanani", "--json")
    assert refused.code == 2
    assert refused.error["error"] == "no_capable_fetcher"
    chosen = alone("subscribe", NEWS, "--fetcher", "feed", "--every", "60", "--json").json
    assert (chosen["assignment_status"], chosen["auto_selected"]) == ("assigned", False)
    assert chosen["fetch_interval_minutes"] == 60


def test_a_disabled_fetcher_is_not_asked(alone: Shell) -> None:
    assert alone("fetchers", "disable", "mikanani").out == (
        "mikanani: disabled, priority 100, at inproc:mikanani.\n"
    )
    assert "fetched by feed" in alone("subscribe", SHOW).out
    names = {each["name"]: each for each in alone("fetchers", "list", "--json").json}
    assert names["mikanani"]["is_enabled"] is False
    assert alone("fetchers", "enable", "mikanani").code == 0
    changed = alone("fetchers", "set", "feed", "--priority", "7", "--json").json
    assert changed["priority"] == 7
    shown = alone("fetchers", "show", "feed", "--json").json
    assert [each["source_url"] for each in shown["subscriptions"]] == [SHOW]
    assert "built in" in alone("fetchers", "show", "feed").out
    nothing = alone("fetchers", "set", "feed")
    assert nothing.code == 2
    assert "--priority or --base-url" in nothing.err


def test_unsubscribing_keeps_the_history_and_subscribing_again_brings_it_back(alone: Shell) -> None:
    alone("subscribe", NEWS, "--name", "News")
    assert alone("unsubscribe", "News").out == "Unsubscribed News (its entries stay).\n"
    assert alone("subscriptions").out.startswith("No subscriptions.")
    (inactive,) = alone("subscriptions", "--all", "--json").json
    assert inactive["is_active"] is False
    back = alone("subscribe", NEWS, "--json").json
    assert back["subscription_id"] == inactive["subscription_id"]
    told = [each["what"] for each in alone("subscriptions", "history", NEWS, "--json").json]
    assert len(told) == 3
    assert told[-1] == "created"
    hard = alone("unsubscribe", NEWS, "--hard")
    assert hard.code == 2
    assert "--yes" in hard.err
    assert alone("unsubscribe", NEWS, "--hard", "--yes").code == 0
    assert alone("subscriptions", "show", NEWS).code == 4


def test_a_subscription_is_changed_by_name(alone: Shell) -> None:
    alone("subscribe", NEWS)
    done = alone("subscriptions", "set", "1", "name=Mine", "fetch_interval_minutes=45")
    assert done.out == "Subscription 1: changed.\n"
    shown = alone("subscriptions", "show", "Mine", "--json").json
    assert (shown["name"], shown["fetch_interval_minutes"]) == ("Mine", 45)
    wrong = alone("subscriptions", "set", "1", "colour=red", "--json")
    assert wrong.code == 2
    assert wrong.error["detail"][0]["loc"][-1] == "colour"
    assert "KEY=VALUE" in alone("subscriptions", "set", "1", "name").err


def test_what_fits_several_is_not_guessed(alone: Shell) -> None:
    alone("subscribe", NEWS, "--name", "News of the day")
    alone("subscribe", SHOW, "--name", "News of the night")
    several = alone("subscriptions", "show", "news of")
    assert several.code == 2
    assert "2 subscriptions fit 'news of'; say which:" in several.err
    nobody = alone("subscriptions", "show", "weather")
    assert nobody.code == 4
    assert "`headwater subscriptions` shows them all" in nobody.err


def test_a_subscription_without_a_name_is_found_by_its_feeds_title(
    alone: Shell, origin: Origin
) -> None:
    url = origin.url("/feed.xml")
    title = alone("add", url, "--json").json["title"]
    found = alone("subscriptions", "show", title, "--json").json
    assert (found["name"], found["source_url"]) == (None, url)


def test_figures_of_a_subscription_that_was_never_visited(alone: Shell) -> None:
    alone("subscribe", NEWS)
    figures = alone("subscriptions", "stats", "1", "--json").json
    assert (figures["visits"], figures["success_rate"]) == (0, None)
    assert alone("subscriptions", "--worst").out == "No subscription fails (window 7d).\n"


def test_a_group_shares_settings_and_takes_one_wish_for_all(alone: Shell) -> None:
    alone("subscribe", NEWS, "--name", "one")
    alone("subscribe", SHOW, "--name", "two")
    made = alone("groups", "create", "Evening", "fetch_interval_minutes=30", "categories=a,b")
    assert made.out == "Group 1: Evening.\n"
    assert alone("groups", "add", "Evening", "one", "two").out == "Evening: 2 joined.\n"
    members = alone("groups", "show", "evening", "--json").json["subscriptions"]
    assert {each["fetch_interval_minutes"] for each in members} == {30}
    assert alone("groups", "set", "1", "fetch_interval_minutes=90").out == (
        "Evening: 2 members changed.\n"
    )
    paused = alone("groups", "act", "Evening", "pause", "--json").json
    assert (paused["done"], paused["refused"]) == (2, 0)
    assert {feed["state"] for feed in alone("list", "--json").json} == {"paused"}
    assert alone("groups", "act", "Evening", "delete").code == 2
    assert alone("groups", "drop", "Evening", "one").out == "Evening: 1 left.\n"
    alone_now = alone("groups", "set", "1", "fetch_interval_minutes=60")
    assert alone_now.out == "Evening: 1 member changed.\n"
    assert alone("groups", "delete", "Evening").out == "Evening: dissolved, 1 kept.\n"


def test_a_login_goes_in_by_file_or_stdin_and_never_comes_out(alone: Shell, tmp_path: Path) -> None:
    alone("subscribe", NEWS)
    login = tmp_path / "login.json"
    login.write_text(json.dumps({"bearer": "planted-secret"}))
    held = alone("subscriptions", "credentials", "1", str(login))
    assert held.out == "Subscription 1: credentials bearer.\n"
    shown = alone("subscriptions", "show", "1", "--json")
    assert shown.json["has_credentials"] is True
    assert "planted-secret" not in shown.out
    cookies = alone("subscriptions", "credentials", "1", "-", given='{"cookies": {"sid": "x1"}}')
    assert cookies.out == "Subscription 1: credentials cookies.\n"
    assert alone("subscriptions", "credentials", "1", "--forget").out == (
        "Subscription 1: credentials none.\n"
    )
    assert alone("subscriptions", "credentials", "1").code == 2
    missing = alone("subscriptions", "credentials", "1", "/nowhere/login")
    assert missing.err == "headwater: /nowhere/login cannot be read: No such file or directory.\n"
    garbage = alone("subscriptions", "credentials", "1", "-", given="garbage")
    assert garbage.err.startswith("headwater: stdin cannot be read as JSON: ")


@pytest.mark.parametrize("text", ["[1]", "nonsense"])
def test_a_file_that_holds_no_object_is_refused(alone: Shell, text: str) -> None:
    alone("subscribe", NEWS)
    refused = alone("subscriptions", "credentials", "1", "-", given=text)
    assert refused.code == 2
    assert "JSON" in refused.err


def test_conflicts_are_listed_and_looked_for(alone: Shell) -> None:
    assert alone("conflicts", "list").out == "Nothing waits for a decision.\n"
    assert alone("conflicts", "show", "3").code == 4
    assert alone("conflicts", "resolve", "3", "feed").code == 4


def test_a_person_decides_a_conflict(alone: Shell) -> None:
    alone("subscribe", SHOW, "--name", "Test Anime")
    with Session(data_dir=Path(alone.env["HEADWATER_DATA_DIR"])).api(writes=True) as api:
        data = {"candidate_fetcher_ids": [1, 2], "conflict_reason": "both can"}
        api.post("/conflicts", {"subscription_id": 1, "conflict_data": data})
    assert "1 feed, 2 mikanani" in alone("conflicts", "list").out
    shown = alone("conflicts", "show", "1", "--json").json
    assert shown["suggestion"]["doubt"] == "too_few_visits"
    done = alone("conflicts", "resolve", "1", "feed", "--reason", "it is quicker")
    assert done.out == "Conflict 1: subscription 1 goes to feed.\n"
    assert alone("conflicts", "list").out == "Nothing waits for a decision.\n"
    (ended,) = alone("conflicts", "list", "--status", "all", "--json").json
    assert ended["resolution_data"]["resolved_fetcher_id"] == 1
    newest = alone("subscriptions", "history", "1", "--json").json[0]
    assert (newest["why"], newest["after"]["fetcher_id"]) == ("it is quicker", 1)
