"""Reports of registered fetchers, judged into the Outcome that a visit of our own would have."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

import orjson

from headwater.core.errors import BadInput
from headwater.core.values.response import Exchange, Headers, HttpAnswer
from headwater.core.values.url import host_of, redacted
from headwater.feeds.fetch.failures import FAILURE_TEXTS, status_code_name
from headwater.feeds.fetch.outcome import (
    AnswerContext,
    Failed,
    Outcome,
    Throttled,
    failed,
    outcome_of_answer,
)

FETCHER_ERROR = "fetcher_error"
JSON_FEED = "https://jsonfeed.org/version/1.1"
LONGEST_DETAIL = 1_000

_WORD = re.compile(r"[^\s\"'<>()]+")
_OK, _NOT_MODIFIED, _GONE, _TOO_MANY = 200, 304, 410, 429


@dataclass(frozen=True, slots=True)
class ReportedResponse:
    """A response exactly as it was served, whatever its status. `url` is where it came from."""

    body: bytes
    status: int = _OK
    headers: Headers = ()
    url: str | None = None


@dataclass(frozen=True, slots=True)
class ReportedDocument:
    """A feed document as text. The validators come back with the next claim, as they are."""

    text: str
    content_type: str
    url: str | None = None
    etag: str | None = None
    last_modified: str | None = None


@dataclass(frozen=True, slots=True)
class ReportedEntries:
    """Entries with JSON Feed's names, and the fields of the feed that they make."""

    entries: tuple[Mapping[str, Any], ...]
    feed: Mapping[str, Any] = field(default_factory=dict)
    etag: str | None = None
    last_modified: str | None = None


@dataclass(frozen=True, slots=True)
class ReportedUnchanged:
    """The same document as the last one that was reported."""


@dataclass(frozen=True, slots=True)
class ReportedFailure:
    """No document. `code` is one of ours; without it, the status makes the code."""

    code: str | None = None
    detail: str = ""
    status: int | None = None


@dataclass(frozen=True, slots=True)
class ReportedThrottled:
    """The source asked for a rest; for `retry_after_sec`, when it said how long."""

    retry_after_sec: float | None = None


@dataclass(frozen=True, slots=True)
class ReportedGone:
    """The source answered that it is gone for good."""


FetcherReport = (
    ReportedResponse
    | ReportedDocument
    | ReportedEntries
    | ReportedUnchanged
    | ReportedFailure
    | ReportedThrottled
    | ReportedGone
)


@dataclass(frozen=True, slots=True)
class ReportContext:
    """The visit that a report is about: its URL, its time, and whether a document was seen
    before."""

    url: str
    started_at: datetime
    elapsed: float
    has_document: bool
    retry_after_cap: float
    accepted_types: tuple[str, ...] | None = None

    @property
    def ended_at(self) -> datetime:
        return self.started_at + timedelta(seconds=self.elapsed)


def outcome_of_report(report: FetcherReport, context: ReportContext) -> Outcome:
    """The outcome, judged as our own answers are; BadInput for one that no visit could have."""
    match report:
        case ReportedResponse() | ReportedDocument() | ReportedEntries():
            return outcome_of_answer(
                _exchange(context, *_answer_parts_of(report, context.url)), _answer_context(context)
            )
        case ReportedUnchanged():
            return outcome_of_answer(_exchange(context, _NOT_MODIFIED), _answer_context(context))
        case ReportedGone():
            return outcome_of_answer(_exchange(context, _GONE), _answer_context(context))
        case ReportedThrottled(retry_after_sec=seconds):
            rest = min(seconds, context.retry_after_cap) if seconds and seconds > 0 else None
            return Throttled(_exchange(context, _TOO_MANY), rest)
        case ReportedFailure():
            return _failure(report, context)


def _answer_parts_of(
    report: ReportedResponse | ReportedDocument | ReportedEntries, source: str
) -> tuple[int, Headers, bytes, str | None]:
    """Status, headers, body and URL of an answer. A JSON Feed without a title gets its host."""
    match report:
        case ReportedResponse(body=body, status=status, headers=headers, url=url):
            return status, headers, body, url
        case ReportedDocument(text=text, content_type=kind, url=url):
            headers = (("Content-Type", _in_utf8(kind)), *_validators(report))
            return _OK, headers, text.encode("utf-8", "replace"), url
        case ReportedEntries(entries=entries, feed=feed):
            head = {"version": JSON_FEED, "title": host_of(source), **feed}
            body = orjson.dumps({**head, "items": list(entries)})
            headers = (("Content-Type", "application/feed+json"), *_validators(report))
            return _OK, headers, body, None


def _validators(report: ReportedDocument | ReportedEntries) -> Headers:
    validators = (("ETag", report.etag), ("Last-Modified", report.last_modified))
    return tuple((name, value) for name, value in validators if value is not None)


def _in_utf8(content_type: str) -> str:
    """Text that came through JSON is UTF-8 now, whatever its label was before."""
    parameters = [
        part.strip()
        for part in content_type.split(";")
        if not part.strip().lower().startswith("charset")
    ]
    return "; ".join([*parameters, "charset=utf-8"])


def _exchange(
    context: ReportContext,
    status: int | None,
    headers: Headers = (),
    body: bytes = b"",
    url: str | None = None,
) -> Exchange:
    answer = HttpAnswer(url or context.url, status, (), headers, body, context.elapsed)
    return Exchange(context.url, context.started_at, answer)


def _answer_context(context: ReportContext) -> AnswerContext:
    """A fetcher that has reported a document before may report that it is still the same."""
    return AnswerContext(
        conditional=context.has_document,
        now=context.ended_at,
        retry_after_cap=context.retry_after_cap,
        accepted_types=context.accepted_types,
    )


def _failure(report: ReportedFailure, context: ReportContext) -> Failed:
    code = report.code or (status_code_name(report.status) if report.status else FETCHER_ERROR)
    if code not in FAILURE_TEXTS:
        raise BadInput("There is no such code of a failed visit.", known=sorted(FAILURE_TEXTS))
    return failed(
        _exchange(context, report.status), code, _redact_urls(report.detail)[:LONGEST_DETAIL]
    )


def _redact_urls(detail: str) -> str:
    """Without secrets: messages of other people's code often have whole URLs in them."""
    return _WORD.sub(lambda word: redacted(word[0]), detail)
