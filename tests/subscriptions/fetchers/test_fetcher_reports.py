"""What a registered fetcher says it met, judged like an answer of our own."""

from datetime import UTC, datetime, timedelta

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.core.errors import BadInput
from headwater.core.values.response import Validators, header
from headwater.feeds.fetch.outcome import Failed, Fetched, Gone, Throttled, Unchanged
from headwater.subscriptions.fetchers.fetcher_reports import (
    ReportContext,
    ReportedDocument,
    ReportedEntries,
    ReportedFailure,
    ReportedGone,
    ReportedResponse,
    ReportedThrottled,
    ReportedUnchanged,
    outcome_of_report,
)

NOON = datetime(2026, 1, 5, 12, 0, tzinfo=UTC)
ERRAND = ReportContext("https://sources.example/list", NOON, 0.5, True, 86_400.0)
NEW = ReportContext("https://sources.example/list", NOON, 0.5, False, 86_400.0)


def test_raw_bytes_keep_everything_as_served() -> None:
    headers = (("Content-Type", "text/xml"), ("ETag", '"a"'), ("Cache-Control", "max-age=600"))
    met = outcome_of_report(
        ReportedResponse(b"<rss/>", 200, headers, "https://other.example/feed"), ERRAND
    )
    assert isinstance(met, Fetched)
    assert met.validators == Validators('"a"', None)
    assert met.fresh_for == 600.0
    assert met.moved_to is None
    answer = met.exchange.answer
    assert (answer.url, answer.body) == ("https://other.example/feed", b"<rss/>")
    assert (answer.response_headers, answer.elapsed) == (headers, 0.5)
    assert (met.exchange.asked_url, met.exchange.started_at) == (ERRAND.url, NOON)


@pytest.mark.parametrize(
    ("status", "kind"),
    [(304, Unchanged), (410, Gone), (429, Throttled), (503, Throttled), (404, Failed)],
)
def test_the_status_of_raw_bytes_counts(status: int, kind: type) -> None:
    assert isinstance(outcome_of_report(ReportedResponse(b"", status), ERRAND), kind)


def test_a_retry_after_date_is_counted_from_the_end_of_the_visit() -> None:
    headers = (("Retry-After", "Mon, 05 Jan 2026 12:10:00 GMT"),)
    met = outcome_of_report(ReportedResponse(b"", 503, headers), ERRAND)
    assert isinstance(met, Throttled)
    assert met.retry_after == 599.5


@pytest.mark.parametrize(
    ("given_type", "kept"),
    [
        ("text/xml", "text/xml; charset=utf-8"),
        ("text/xml; charset=gbk", "text/xml; charset=utf-8"),
        ("text/xml;  Charset=GBK ; profile=x", "text/xml; profile=x; charset=utf-8"),
    ],
)
def test_text_has_one_encoding(given_type: str, kept: str) -> None:
    met = outcome_of_report(ReportedDocument("é", given_type), ERRAND)
    answer = met.exchange.answer
    assert answer.body == b"\xc3\xa9"
    assert header(answer.response_headers, "content-type") == kept


def test_entries_make_a_json_feed() -> None:
    entries = ({"id": "1", "title": "One"}, {"id": "2"})
    met = outcome_of_report(ReportedEntries(entries, {"title": "Sources"}, etag='"v"'), ERRAND)
    assert isinstance(met, Fetched)
    assert met.validators == Validators('"v"', None)
    assert orjson.loads(met.exchange.answer.body) == {
        "version": "https://jsonfeed.org/version/1.1",
        "title": "Sources",
        "items": [{"id": "1", "title": "One"}, {"id": "2"}],
    }
    untitled = outcome_of_report(ReportedEntries(()), ERRAND).exchange.answer.body
    assert orjson.loads(untitled)["title"] == "sources.example"


def test_nothing_new_needs_something_old() -> None:
    assert isinstance(outcome_of_report(ReportedUnchanged(), ERRAND), Unchanged)
    met = outcome_of_report(ReportedUnchanged(), NEW)
    assert isinstance(met, Failed)
    assert met.code == "unexpected_304"


def test_an_empty_document_is_none() -> None:
    met = outcome_of_report(ReportedDocument("", "text/xml"), ERRAND)
    assert isinstance(met, Failed)
    assert met.code == "empty_body"


def test_the_list_of_accepted_types_counts_here_too() -> None:
    errand = ReportContext(ERRAND.url, NOON, 0.0, True, 86_400.0, ("application/rss+xml",))
    met = outcome_of_report(ReportedDocument("<rss/>", "text/html"), errand)
    assert isinstance(met, Failed)
    assert met.code == "unaccepted_type"


@pytest.mark.parametrize(
    ("said", "code", "detail"),
    [
        (ReportedFailure("timeout", "30 s"), "timeout", "30 s"),
        (ReportedFailure(status=403), "http_403", "The host refuses access (403)."),
        (
            ReportedFailure(status=418),
            "http_4xx",
            "The host refuses the request (another 4xx status).",
        ),
        (ReportedFailure(), "fetcher_error", "The fetcher of this source had trouble of its own."),
    ],
)
def test_trouble_has_a_code_and_words(said: ReportedFailure, code: str, detail: str) -> None:
    met = outcome_of_report(said, ERRAND)
    assert isinstance(met, Failed)
    assert (met.code, met.detail) == (code, detail)
    assert met.exchange.answer.status == said.status


def test_a_code_of_their_own_is_refused() -> None:
    with pytest.raises(BadInput):
        outcome_of_report(ReportedFailure("meteor"), ERRAND)


@pytest.mark.parametrize(
    ("said", "rest"), [(None, None), (60.0, 60.0), (-5.0, None), (10.0**9, 86_400.0)]
)
def test_rest_is_believed_up_to_the_cap(said: float | None, rest: float | None) -> None:
    met = outcome_of_report(ReportedThrottled(said), ERRAND)
    assert isinstance(met, Throttled)
    assert met.retry_after == rest


def test_gone_is_gone() -> None:
    assert isinstance(outcome_of_report(ReportedGone(), NEW), Gone)
    assert ERRAND.ended_at == NOON + timedelta(seconds=0.5)


@given(
    status=st.integers(100, 599),
    body=st.binary(max_size=64),
    headers=st.lists(st.tuples(st.text(max_size=12), st.text(max_size=12)), max_size=4),
    known=st.booleans(),
)
def test_whatever_was_served_has_an_outcome(
    status: int, body: bytes, headers: list[tuple[str, str]], known: bool
) -> None:
    errand = ERRAND if known else NEW
    met = outcome_of_report(ReportedResponse(body, status, tuple(headers)), errand)
    assert met.exchange.answer.body == body
    assert isinstance(met, Fetched) <= (status in (200, 203, 226) and body != b"")
    assert isinstance(met, Unchanged) == (status == 304 and known)
