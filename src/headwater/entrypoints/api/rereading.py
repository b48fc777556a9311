"""Payloads of the archive read again: what changed between two, and entries made anew from all."""

from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import Field, StrictBool, StrictInt, StrictStr
from starlette.requests import Request
from starlette.responses import Response

from headwater.comparing import Comparison, compare_payloads
from headwater.entrypoints.api.asking import REFUSALS, At, public_id, told
from headwater.entrypoints.api.models import Strict
from headwater.entrypoints.api.once import Told, anew, once
from headwater.entrypoints.api.records import Moment, Record
from headwater.fetch.queries import ArchivedFetch
from headwater.merge.difference import Difference, FieldChange
from headwater.reparsing import Reparsed, reparse

router = APIRouter(tags=["raw"], responses=REFUSALS)

MOST_PAYLOADS = 100
MOST_SHOWN = 1_000


class FieldChangeRecord(Record):
    name: str
    before: str | None
    after: str | None

    @classmethod
    def of(cls, change: FieldChange) -> "FieldChangeRecord":
        return cls(name=change.name, before=change.before, after=change.after)


class DifferenceRecord(Record):
    entry_uid: str
    kind: str = Field(description="`added`, `removed` or `changed`.")
    title: str | None
    silent: bool = Field(description="Changed, while its own dates stayed the same.")
    fields: list[FieldChangeRecord]
    fetch_id: str | None = Field(description="The payload that shows it, where there are several.")

    @classmethod
    def of(cls, found: Difference, fetch_id: str | None = None) -> "DifferenceRecord":
        return cls(
            entry_uid=found.uid,
            kind=found.kind,
            title=found.title,
            silent=found.silent,
            fields=[FieldChangeRecord.of(each) for each in found.fields],
            fetch_id=fetch_id,
        )


class PayloadRecord(Record):
    fetch_id: str
    fetched_at: Moment
    body_sha256: str
    content_length: int

    @classmethod
    def of(cls, raw: ArchivedFetch) -> "PayloadRecord":
        return cls(
            fetch_id=raw.fetch_id,
            fetched_at=raw.fetched_at,
            body_sha256=raw.body_sha256,
            content_length=raw.content_length,
        )


class ComparisonRecord(Record):
    """What changed from the older payload to the newer one."""

    feed_id: str
    before: PayloadRecord
    after: PayloadRecord
    same_bytes: bool
    feed: list[FieldChangeRecord]
    entries: list[DifferenceRecord]
    cut: int = Field(description="How many more entries differ than are shown.")

    @classmethod
    def of(cls, said: Comparison) -> "ComparisonRecord":
        return cls(
            feed_id=said.after.feed_id,
            before=PayloadRecord.of(said.before),
            after=PayloadRecord.of(said.after),
            same_bytes=said.same_bytes,
            feed=[FieldChangeRecord.of(each) for each in said.feed],
            entries=[DifferenceRecord.of(each) for each in said.entries[:MOST_SHOWN]],
            cut=max(0, len(said.entries) - MOST_SHOWN),
        )


class UnreadRecord(Record):
    fetch_id: str
    error: str
    detail: str


class ReparsedRecord(Record):
    """`removed` entries are told of, never deleted. Ask again with `after` = `next`."""

    feed_id: str
    dry_run: bool
    payloads: int
    same: int
    added: int
    changed: int
    removed: int
    differences: list[DifferenceRecord]
    cut: int = Field(description="How many more entries differ than are shown.")
    unread: list[UnreadRecord]
    next: str | None

    @classmethod
    def of(cls, feed_id: str, said: Reparsed, *, dry_run: bool) -> "ReparsedRecord":
        kinds = [found.kind for _, found in said.differences]
        return cls(
            feed_id=feed_id,
            dry_run=dry_run,
            payloads=said.payloads,
            same=said.same,
            added=kinds.count("added"),
            changed=kinds.count("changed"),
            removed=kinds.count("removed"),
            differences=[
                DifferenceRecord.of(found, fetch_id)
                for fetch_id, found in said.differences[:MOST_SHOWN]
            ],
            cut=max(0, len(kinds) - MOST_SHOWN),
            unread=[
                UnreadRecord(fetch_id=each.fetch_id, error=each.code, detail=each.detail)
                for each in said.unread
            ],
            next=said.next,
        )


class ReparseIn(Strict):
    dry_run: StrictBool = Field(False, description="Only say what would change.")
    after: StrictStr | None = Field(None, description="`next` of the answer before.")
    limit: Annotated[StrictInt, Field(ge=1, le=MOST_PAYLOADS)] = Field(
        MOST_PAYLOADS, description="How many payloads at most."
    )


@router.get("/raw/{fetch_id}/diff", response_model=ComparisonRecord)
async def compare_raw(
    fetch_id: str,
    at: At,
    other: Annotated[
        str | None, Query(alias="with", description="Another payload; else the one before.")
    ] = None,
) -> Response:
    """What a publisher changed between two payloads of a feed."""
    one = public_id(fetch_id, "raw_fetch")
    second = None if other is None else public_id(other, "raw_fetch")
    return told(ComparisonRecord.of(await compare_payloads(at.engine, one, second)))


@router.post("/feeds/{feed_id}/reparse", response_model=ReparsedRecord)
async def reparse_feed(
    feed_id: str, request: Request, at: At, body: ReparseIn | None = None
) -> Response:
    """Entries made anew from the archive, without a request. Doing it twice changes nothing more.

    New and changed entries are told of by events, as after a visit.
    """
    asked = body or ReparseIn()
    known = public_id(feed_id, "feed")
    after = None if asked.after is None else public_id(asked.after, "raw_fetch")
    done: list[ReparsedRecord] = []

    async def look() -> ReparsedRecord:
        said = await reparse(
            at.engine, known, after=after, limit=asked.limit, dry_run=asked.dry_run
        )
        return ReparsedRecord.of(known, said, dry_run=asked.dry_run)

    async def effect(_: bytes | None) -> str:
        # Doing it again after a crash does no harm, so the key is not tied to the first part.
        done.append(await look())
        return known

    async def tell(_: str) -> Told:
        return Told(200, done[0])

    if asked.dry_run:
        return await anew(request, at.engine, look)
    return await once(request, at.engine, effect, tell)
