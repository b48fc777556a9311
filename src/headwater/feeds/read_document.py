"""Read a document: bytes as served become entries, in a parse process that answers in JSON.

Both sides are here: `read_job` runs in the parse process, `decode_read_result` in ours.
"""

from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

import orjson

from headwater.core.values.response import Headers, header
from headwater.feeds.entries.entry import NormalisedEntry
from headwater.feeds.entries.normalise_entry import Emails, normalise_entry
from headwater.feeds.fetch.content_coding import decode_body
from headwater.feeds.ports import Parsers
from headwater.feeds.schedule.hints import Hints, hints_of
from headwater.parse import parse
from headwater.parse.document import Document, Feed
from headwater.parse.identity import IdentityMemory, identify
from headwater.parse.limits import ParseLimits


@dataclass(frozen=True, slots=True)
class ReadingPolicy:
    """The limits of reading a document."""

    max_bytes: int = 10 * 1024 * 1024
    limits: ParseLimits = field(default=ParseLimits())
    emails: Emails = "keep"


@dataclass(frozen=True, slots=True)
class ParseJob:
    """Everything that a parse process needs besides the body."""

    url: str
    content_encoding: str | None
    content_type: str | None
    feed_id: str
    identity: dict[str, Any] | None
    known_document: str | None

    def as_bytes(self, policy: ReadingPolicy) -> bytes:
        return orjson.dumps({"job": self, "policy": policy})


def parse_job_of(
    url: str,
    headers: Headers,
    feed_id: str,
    identity: dict[str, Any] | None,
    *,
    known_document: str | None = None,
) -> ParseJob:
    """The job for a body that came from `url` with these headers."""
    return ParseJob(
        url=url,
        content_encoding=header(headers, "content-encoding"),
        content_type=header(headers, "content-type"),
        feed_id=feed_id,
        identity=identity,
        known_document=known_document,
    )


@dataclass(frozen=True, slots=True)
class ReadFeed:
    """The content of a document, ready to be merged. `decoded_bytes` is its unpacked size."""

    document_hash: bytes
    format: str
    title: str | None
    home_link: str | None
    hints: Hints
    identity: dict[str, Any] | None
    published: tuple[int, ...]
    partial: bool
    problems: tuple[tuple[str, str], ...]
    entries: tuple[NormalisedEntry, ...]
    decoded_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class SameDocument:
    """The same document as last time, byte for byte: there is nothing to compare."""

    document_hash: bytes
    decoded_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class UnreadableDocument:
    """A document that gave no feed. `code` is stable, `detail` is for people.

    `decoded_bytes` is None when it was not unpacked, or unpacking failed.
    """

    code: str
    detail: str
    decoded_bytes: int | None = None


ReadResult = ReadFeed | SameDocument | UnreadableDocument


def read_job(job: bytes, body: bytes) -> bytes:
    """Decode, parse and normalise one body. This runs in a process that can be killed."""
    message = orjson.loads(job)
    fields, policy = message["job"], message["policy"]
    plain = decode_body(body, fields["content_encoding"], max_bytes=policy["max_bytes"])
    if plain.error is not None:
        return orjson.dumps({"error": plain.error, "detail": plain.detail})
    return orjson.dumps(_read(plain.body, fields, policy) | {"decoded": len(plain.body)})


def _read(body: bytes, fields: dict[str, Any], policy: dict[str, Any]) -> dict[str, Any]:
    digest = sha256(body).hexdigest()
    if digest == fields["known_document"]:
        return {"same": digest}
    headers = {"content-type": fields["content_type"]} if fields["content_type"] else {}
    document = parse(
        body, url=fields["url"], headers=headers, limits=ParseLimits(**policy["limits"])
    )
    if document.format == "unknown":
        return {"error": "not_a_feed", "detail": _why_no_feed(document)}
    if document.partial and not document.entries:
        return {"error": "parse_error", "detail": "it ends before the first entry"}
    return _encode_document(document, fields, digest, policy["emails"])


def decode_read_result(payload: bytes) -> ReadResult:
    """Decode the answer of a parse process."""
    answer = orjson.loads(payload)
    if "error" in answer:
        return UnreadableDocument(answer["error"], answer["detail"], answer.get("decoded"))
    if "same" in answer:
        return SameDocument(bytes.fromhex(answer["same"]), answer["decoded"])
    return ReadFeed(
        document_hash=bytes.fromhex(answer["document_hash"]),
        format=answer["format"],
        title=answer["title"],
        home_link=answer["home_link"],
        hints=Hints.from_json(answer["hints"]),
        identity=answer["identity"],
        published=tuple(answer["published"]),
        partial=answer["partial"],
        problems=tuple((code, detail) for code, detail in answer["problems"]),
        entries=tuple([_entry(row) for row in answer["entries"]]),
        decoded_bytes=answer["decoded"],
    )


def _encode_document(
    document: Document, fields: dict[str, Any], digest: str, emails: Emails
) -> dict[str, Any]:
    memory = IdentityMemory.from_json(fields["identity"] or {})
    uids, memory = identify(document.entries, fields["feed_id"], memory)
    entries = [
        normalise_entry(entry, uid, emails)
        for entry, uid in zip(document.entries, uids, strict=True)
    ]
    feed = document.feed
    dated = (entry.published or entry.updated for entry in document.entries)
    times = sorted(int(moment.timestamp()) for moment in dated if moment)
    return {
        "document_hash": digest,
        "format": document.format,
        "title": feed.title.value if feed.title else None,
        "home_link": feed.link,
        "hints": _hints(feed).as_json(),
        "identity": memory.as_json() or None,
        "published": times,
        "partial": document.partial,
        "problems": [tuple(problem) for problem in document.problems[:50]],
        "entries": [_row(entry) for entry in entries],
    }


def _hints(feed: Feed) -> Hints:
    return hints_of(
        feed.ttl_minutes,
        feed.skip_hours,
        feed.skip_days,
        feed.update_period,
        feed.update_frequency,
    )


def _row(entry: NormalisedEntry) -> list[Any]:
    """JSON has no bytes, so keys are sent as hexadecimal digits."""
    return [
        entry.uid,
        entry.uid_key.hex(),
        entry.link,
        entry.link_key.hex() if entry.link_key else None,
        entry.title,
        entry.summary,
        entry.content,
        entry.authors,
        entry.categories,
        entry.enclosures,
        entry.details,
        entry.published,
        entry.updated,
        entry.content_hash,
        entry.offset,
        entry.length,
    ]


def _entry(row: list[Any]) -> NormalisedEntry:
    row[1] = bytes.fromhex(row[1])
    if row[3]:
        row[3] = bytes.fromhex(row[3])
    return NormalisedEntry._make(row)


def _why_no_feed(document: Document) -> str:
    for code, detail in document.problems:
        if code == "not_a_feed":
            return detail
    return "not a feed"


DEADLY = {"parser_crashed", "parser_timeout", "parser_memory"}
"""Errors that the document caused; `parser_unavailable` is not one, as its cause is ours."""

NOT_THE_DOCUMENTS_FAULT = {"parser_unavailable"}
"""Errors that say nothing about the document: no parse process could be started."""


async def read_document(
    parsers: Parsers, job: ParseJob, body: bytes, policy: ReadingPolicy
) -> ReadResult:
    reply = await parsers.read(job.as_bytes(policy), body)
    if reply.error is not None:
        return UnreadableDocument(reply.error, reply.detail)
    return decode_read_result(reply.payload)


def killed_its_parser(read: ReadResult | None) -> bool:
    return isinstance(read, UnreadableDocument) and read.code in DEADLY
