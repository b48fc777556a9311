"""What a registered fetcher says it met, as the same Outcome a visit of our own would have been."""

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
    """Entries with JSON Feed's names, and what there is to say of the feed that they make."""

    entries: tuple[Mapping[str, Any], ...]
    feed: Mapping[str, Any] = field(default_factory=dict)
    etag: str | None = None
    last_modified: str | None = None


@dataclass(frozen=True, slots=True)
class ReportedUnchanged:
    """The same document as the last one that was reported."""


@dataclass(frozen=True, slots=True)
class ReportedFailure:
    """No document. `code` is one of ours; with a status alone, the status says it."""

    code: str | None = None
    detail: str = ""
    status: int | None = None


@dataclass(frozen=True, slots=True)
class ReportedThrottled:
    """The source asked for rest; for how long, when it said so."""

    retry_after_sec: float | None = None


@dataclass(frozen=True, slots=True)
class ReportedGone:
    """The source says that it is gone for good."""


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
    """What a report is about: the URL that was to be asked, when, and what was known before."""

    url: str
    started_at: datetime
    elapsed: float
    has_document: bool
    retry_after_cap: float
    accepted_types: tuple[str, ...] | None = None

    @property
    def ended_at(self) -> datetime:
        return self.started_at + timedelta(seconds=self.elapsed)


def outcome_of_report(said: FetcherReport, errand: ReportContext) -> Outcome:
    """Judged as our own answers are. BadInput for what no visit could have met."""
    match said:
        case ReportedResponse() | ReportedDocument() | ReportedEntries():
            return outcome_of_answer(
                _exchange(errand, *_served(said, errand.url)), _answer_context(errand)
            )
        case ReportedUnchanged():
            return outcome_of_answer(_exchange(errand, _NOT_MODIFIED), _answer_context(errand))
        case ReportedGone():
            return outcome_of_answer(_exchange(errand, _GONE), _answer_context(errand))
        case ReportedThrottled(retry_after_sec=seconds):
            rest = min(seconds, errand.retry_after_cap) if seconds and seconds > 0 else None
            return Throttled(_exchange(errand, _TOO_MANY), rest)
        case ReportedFailure():
            return _failure(said, errand)


def _served(
    said: ReportedResponse | ReportedDocument | ReportedEntries, source: str
) -> tuple[int, Headers, bytes, str | None]:
    """Status, headers, body and place of an answer. A JSON Feed without a title gets its host."""
    match said:
        case ReportedResponse(body=body, status=status, headers=headers, url=url):
            return status, headers, body, url
        case ReportedDocument(text=text, content_type=kind, url=url):
            headers = (("Content-Type", _in_utf8(kind)), *_validators(said))
            return _OK, headers, text.encode("utf-8", "replace"), url
        case ReportedEntries(entries=entries, feed=feed):
            head = {"version": JSON_FEED, "title": host_of(source), **feed}
            body = orjson.dumps({**head, "items": list(entries)})
            headers = (("Content-Type", "application/feed+json"), *_validators(said))
            return _OK, headers, body, None


def _validators(said: ReportedDocument | ReportedEntries) -> Headers:
    given = (("ETag", said.etag), ("Last-Modified", said.last_modified))
    return tuple((name, value) for name, value in given if value is not None)


def _in_utf8(content_type: str) -> str:
    """Text that came through JSON has no other encoding, whatever its label was before."""
    kept = [
        part.strip()
        for part in content_type.split(";")
        if not part.strip().lower().startswith("charset")
    ]
    return "; ".join([*kept, "charset=utf-8"])


def _exchange(
    errand: ReportContext,
    status: int | None,
    headers: Headers = (),
    body: bytes = b"",
    url: str | None = None,
) -> Exchange:
    answer = HttpAnswer(url or errand.url, status, (), headers, body, errand.elapsed)
    return Exchange(errand.url, errand.started_at, answer)


def _answer_context(errand: ReportContext) -> AnswerContext:
    """Whoever has reported a document before may say that it is still the same."""
    return AnswerContext(
        conditional=errand.has_document,
        now=errand.ended_at,
        retry_after_cap=errand.retry_after_cap,
        accepted_types=errand.accepted_types,
    )


def _failure(said: ReportedFailure, errand: ReportContext) -> Failed:
    code = said.code or (status_code_name(said.status) if said.status else FETCHER_ERROR)
    if code not in FAILURE_TEXTS:
        raise BadInput("There is no such code of a failed visit.", known=sorted(FAILURE_TEXTS))
    return failed(_exchange(errand, said.status), code, _shown(said.detail)[:LONGEST_DETAIL])


def _shown(detail: str) -> str:
    """Words of somebody else's code, which likes to name whole URLs: fit for records and events."""
    return _WORD.sub(lambda word: redacted(word[0]), detail)
