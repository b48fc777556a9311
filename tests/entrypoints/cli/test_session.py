"""A session prints records for people and programs, asks before it destroys, and doubts answers."""

import sys
from collections.abc import Mapping
from io import StringIO

import pytest
import typer

from headwater.core.errors import BadInput
from headwater.entrypoints.api_request import ApiRequest, ApiResponse
from headwater.entrypoints.cli.errors import ApiError, ExitCode, exit_code_of
from headwater.entrypoints.cli.session import Api, Session

PAGE = b"<html>\n<h1>Sign in</h1></html>"


class Somebody:
    """Answers everything the same way."""

    is_service = True
    where = "http://127.0.0.1:1"

    def __init__(self, status: int, body: bytes, headers: Mapping[str, str] | None = None) -> None:
        self.reply = ApiResponse(status, headers or {}, body)

    def ask(self, request: ApiRequest) -> ApiResponse:
        return self.reply

    def close(self) -> None:
        raise AssertionError("not ours to close")


def refusal(somebody: Somebody) -> ApiError:
    with pytest.raises(ApiError) as told:
        Api(somebody).get("/feeds")
    return told.value


@pytest.mark.parametrize("status", [200, 404, 502])
def test_a_page_in_place_of_an_answer_means_no_service_was_reached(status: int) -> None:
    told = refusal(Somebody(status, PAGE))
    assert told.message == (
        "Something else than Headwater answered, there or on the way:"
        f" {status}, <html> <h1>Sign in</h1></html>."
    )
    assert told.code == "unexpected_answer"
    assert exit_code_of(told) is ExitCode.UNREACHABLE


def test_where_a_redirect_points_is_told() -> None:
    told = refusal(Somebody(301, b"", {"location": "https://river.example.org/feeds"}))
    assert told.message == (
        "Something else than Headwater answered, there or on the way: 301, nothing."
        " It points to https://river.example.org/feeds."
    )
    assert exit_code_of(told) is ExitCode.UNREACHABLE


def test_the_services_own_no_stays_its_own() -> None:
    said = b'{"error":"not_found","message":"There is no such feed.","status_code":404}'
    told = refusal(Somebody(404, said))
    assert told.message == "There is no such feed."
    assert exit_code_of(told) is ExitCode.NOT_FOUND


@pytest.mark.parametrize("status", [200, 404, 500])
@pytest.mark.parametrize("body", [b"", b"null", b"[]", b'"ok"', b'{"detail":"Not Found"}'])
def test_the_json_of_another_service_is_told_as_such(status: int, body: bytes) -> None:
    """Not with a traceback, and not as the no of a service that knows its feeds."""
    with pytest.raises(ApiError) as told:
        list(Api(Somebody(status, body)).pages("/feeds", "feeds"))
    assert told.value.code == "unexpected_answer"
    assert f"answered, there or on the way: {status}, " in told.value.message
    assert exit_code_of(told.value) is ExitCode.UNREACHABLE


def names_of(records: list[str], mark: str) -> str:
    return mark.join(records)


@pytest.mark.parametrize(
    ("records", "as_json", "printed"),
    [
        (["ox", "ass"], False, "ox+ass\n"),
        (["ox", "ass"], True, '[\n  "ox",\n  "ass"\n]\n'),
        ([], False, "Nothing is there.\n"),
        ([], True, "[]\n"),
    ],
)
def test_a_record_is_printed_as_json_or_as_people_read_it(
    records: list[str], as_json: bool, printed: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Session(as_json=as_json).emit(records, names_of, "+", empty="Nothing is there.")
    assert capsys.readouterr().out == printed


def test_a_sentence_is_no_markup(capsys: pytest.CaptureFixture[str]) -> None:
    Session().emit_line({}, "[bold]a\x1b[31m name")
    assert capsys.readouterr().out == "[bold]a\N{REPLACEMENT CHARACTER}[31m name\n"


class Keyboard(StringIO):
    """Somebody sits there and types this."""

    def isatty(self) -> bool:
        return True


def test_where_nobody_can_be_asked_yes_must_be_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", StringIO())
    session = Session()
    session.confirm("Really?", yes=True, needs="It needs --yes.")
    session.confirm("Really?", yes=False)
    with pytest.raises(BadInput, match="It needs --yes"):
        session.confirm("Really?", yes=False, needs="It needs --yes.")


def test_whoever_sits_there_is_asked_and_no_ends_the_command(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", Keyboard("n\n"))
    with pytest.raises(typer.Abort):
        Session().confirm("Really?", yes=False, needs="It needs --yes.", about="A herd of oxen.")
    assert "A herd of oxen." in capsys.readouterr().err


CHANGES = {
    "post": lambda api: api.post("/groups", {}),
    "patch": lambda api: api.patch("/groups/1", {}),
    "put": lambda api: api.put("/groups/1", {}),
    "delete": lambda api: api.delete("/groups/1"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_command_that_only_reads_cannot_write(change: str) -> None:
    """Without a service it would write without the locks of the data folder."""
    with pytest.raises(AssertionError, match=r"needs session\.api"):
        CHANGES[change](Api(Somebody(200, b"{}")))
    assert CHANGES[change](Api(Somebody(200, b"{}"), writes=True)) == {}


def test_a_preview_is_no_change() -> None:
    assert Api(Somebody(200, b'{"removed":3}')).preview("/x", {}) == {"removed": 3}
