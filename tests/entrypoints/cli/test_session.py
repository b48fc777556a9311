"""What answers where a service was expected may be something else."""

from collections.abc import Mapping

import pytest

from headwater.entrypoints.cli.api_caller import ApiRequest, ApiResponse
from headwater.entrypoints.cli.errors import ApiError, ExitCode, exit_code_of
from headwater.entrypoints.cli.session import Api

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
