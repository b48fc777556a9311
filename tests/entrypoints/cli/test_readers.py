"""Readers from the command line: by name or id, tokens shown once, with and without a service."""

import json
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest

from headwater.core.errors import BadInput, NotFound
from headwater.entrypoints.cli.lookup_readers import lookup_token
from headwater.entrypoints.cli.readers import categories_after
from headwater.entrypoints.cli.session import Api
from headwater.publish.opml import parse_opml
from tests.entrypoints.cli.conftest import Shell
from tests.support.service import until

ADA: dict[str, Any] = {"id": "a", "name": "Ada"}


def a_token(number: int, state: str = "open") -> dict[str, Any]:
    return {"id": f"0197-{number}", "hint": f"hwr_abc{number}", "state": state}


def status_of(url: str) -> int:
    try:
        with urlopen(url, timeout=30) as answer:
            assert b"<rss" in answer.read()
            return int(answer.status)
    except HTTPError as refusal:
        with refusal:
            return refusal.code


def test_a_reader_is_made_shown_changed_and_removed(alone: Shell) -> None:
    assert "No readers" in alone("readers", "list").out
    made = alone("readers", "add", "Ada", "--category", "garden", "--category", "sea: tides")
    assert (made.code, made.out) == (0, "Ada: follows 2 categories.\n")
    assert "garden, sea: tides" in alone("readers", "list").out
    shown = alone("readers", "show", "Ada")
    assert "garden, sea: tides" in shown.out
    assert "headwater readers token" in shown.err
    changed = alone(
        *("readers", "set", "Ada", "--name", "Ada L.", "--add", "*", "--drop", "garden", "--json")
    ).json
    assert (changed["name"], changed["categories"]) == ("Ada L.", ["sea: tides", "*"])
    exactly = alone("readers", "set", changed["id"], "--category", "one", "--json").json
    assert exactly["categories"] == ["one"]
    refused = alone("readers", "remove", "Ada L.")
    assert (refused.code, "--yes" in refused.err) == (2, True)
    assert alone("readers", "remove", "Ada L.", "--yes").out == "Ada L.: removed.\n"
    assert alone("readers", "list", "--json").json == []


def test_what_is_wrong_is_said_in_a_line(alone: Shell) -> None:
    alone("readers", "add", "Ada", "--category", "garden")
    taken = alone("readers", "add", "Ada")
    assert taken.code == 3
    nobody = alone("readers", "show", "Mo")
    assert nobody.code == 4
    assert nobody.err == (
        "headwater: No reader is called 'Mo'. `headwater readers list` shows them all.\n"
    )
    for name in ("..", ".", "a/b", "01a1e016-743d-7087-b064-068d856de901"):
        assert alone("readers", "show", name).code == 4
    unnamed = alone("readers", "add", "Mo", "--category", "")
    assert unnamed.err == "headwater: categories.0: String should have at least 1 character\n"
    assert alone("readers", "set", "Ada").code == 2
    assert alone("readers", "set", "Ada", "--drop", "sea").code == 4
    assert alone("readers", "set", "Ada", "--drop", "garden", "--category", "sea").code == 2
    assert alone("readers", "rotate", "Ada").code == 4
    assert alone("readers", "rotate", "Ada", "--grace", "soon").code == 2
    as_json = alone("readers", "token", "Mo", "--json")
    assert as_json.error["status_code"] == 404


def test_the_address_is_printed_once_and_alone(alone: Shell) -> None:
    alone("readers", "add", "Ada")
    made = alone("readers", "token", "Ada")
    assert made.code == 0, made.err
    assert made.out.startswith("http://127.0.0.1:8470/rss?token=hwr_")
    assert made.out.count("\n") == 1
    assert "not shown again" in made.err
    assert "while `headwater run`" in made.err
    secret = made.out.strip().partition("token=")[2]
    for command in (("tokens", "Ada"), ("tokens", "Ada", "--json"), ("show", "Ada", "--json")):
        shown = alone("readers", *command)
        assert secret not in shown.out
        assert secret[:8] in shown.out


def test_an_address_is_not_cut_at_the_edge_of_a_terminal(alone: Shell) -> None:
    narrow = Shell(alone.env | {"COLUMNS": "40"})
    narrow("readers", "add", "Ada")
    assert narrow("readers", "token", "Ada").out.count("\n") == 1


def test_the_feed_is_read_until_its_token_is_revoked(sh: Shell) -> None:
    sh("readers", "add", "Lin", "--category", "garden")
    old = sh("readers", "token", "Lin").out.strip()
    assert status_of(old) == 200
    turned = sh("readers", "rotate", "Lin")
    new = turned.out.strip()
    assert "works until" in turned.err
    assert new != old
    secret = old.partition("token=")[2]
    revoked = sh("readers", "revoke", "Lin", secret)
    assert revoked.out == f"Lin: the token {secret[:8]}… is revoked.\n"
    until(lambda: status_of(old) == 404, seconds=1.5)
    assert status_of(new) == 200
    states = [each["state"] for each in sh("readers", "tokens", "Lin", "--json").json]
    assert states == ["revoked", "open"]
    assert sh("readers", "tokens", "Lin").out.count("revoked") == 1


def test_the_old_token_can_end_at_once(alone: Shell) -> None:
    alone("readers", "add", "Ada")
    alone("readers", "token", "Ada")
    turned = alone("readers", "rotate", "Ada", "--grace", "0", "--json").json
    assert turned["replaces"]["state"] == "ended"
    assert turned["urls"]["rss"].endswith(turned["token"])
    assert "opens nothing any more" in alone("readers", "rotate", "Ada", "--grace", "0").err


def test_the_sources_of_a_reader_are_a_list_for_other_readers(alone: Shell, tmp_path: Path) -> None:
    alone("readers", "add", "Ada", "--category", "garden")
    alone("subscribe", "https://feeds.invalid/g.xml?key=s3cret", "--category", "garden")
    (row,) = parse_opml(alone("readers", "opml", "Ada").raw)
    assert (row.url, row.categories) == ("https://feeds.invalid/g.xml?key=REDACTED", ("garden",))
    written = tmp_path / "ada.opml"
    assert alone("readers", "opml", "Ada", str(written)).code == 0
    assert parse_opml(written.read_bytes()) == (row,)
    nowhere = alone("readers", "opml", "Ada", str(tmp_path / "no" / "such"))
    assert (nowhere.code, "cannot be written" in nowhere.err) == (2, True)


def test_a_token_is_meant_by_its_id_its_beginning_or_itself() -> None:
    tokens = [a_token(1), a_token(2, "ending")]
    assert lookup_token(ADA, tokens, None) == tokens[0]
    for text in ("0197-2", "hwr_abc2", "hwr_abc2defghij"):
        assert lookup_token(ADA, tokens, text) == tokens[1]
    with pytest.raises(BadInput, match="2 tokens that fit"):
        lookup_token(ADA, tokens, "0197")
    with pytest.raises(BadInput, match="2 tokens that fit"):
        lookup_token(ADA, [a_token(1), a_token(2)], None)
    with pytest.raises(NotFound, match="no such token"):
        lookup_token(ADA, [a_token(1, "revoked")], None)


def test_a_token_that_was_typed_is_not_repeated_in_an_error() -> None:
    with pytest.raises(NotFound) as refusal:
        lookup_token(ADA, [a_token(1)], "hwr_s3cret")
    assert "s3cret" not in json.dumps([refusal.value.message, refusal.value.facts])


def test_what_is_followed_after_a_change() -> None:
    assert categories_after(["a", "b"], None, ["c", "a"], ["b"]) == ["a", "c"]
    assert categories_after(["a"], ["x", "y", "x"], None, None) == ["x", "y"]
    assert categories_after(["a"], None, None, ["a"]) == []


def test_an_answer_that_was_lost_on_the_way_is_said(
    alone: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The token of a repeated request cannot be shown."""
    alone("readers", "add", "Ada")
    post = Api.post

    def repeated(self: Api, path: str, body: Any, **query: Any) -> Any:
        made = post(self, path, body, **query)
        return made | {"token": None, "urls": None}

    monkeypatch.setattr(Api, "post", repeated)
    lost = alone("readers", "token", "Ada")
    assert lost.code == 1
    assert lost.out == ""
    assert "revoke it and ask again" in lost.err
