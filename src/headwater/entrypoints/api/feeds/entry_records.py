"""Records of entries: what callers get of them, of their versions and of their aliases."""

from typing import Annotated, Any

import orjson
from pydantic import BeforeValidator, ConfigDict, Field

from headwater.entrypoints.api.records import Moment, NounRecord, Record


def _from_json(value: Any) -> Any:
    return orjson.loads(value) if isinstance(value, str) else value


_StoredAsJson = BeforeValidator(_from_json)


def _decode_snapshot(value: Any) -> Any:
    """Stored lists are JSON text inside the snapshot's JSON; moments are microseconds."""
    fields = _from_json(value)
    lists = ("authors", "categories", "enclosures", "details")
    return fields | {name: _from_json(fields[name]) for name in lists if name in fields}


class RawRefRecord(NounRecord):
    fetch_id: str
    offset: int | None
    length: int | None
    note: str | None


class PersonRecord(Record):
    name: str | None
    email: str | None
    uri: str | None


class EnclosureRecord(Record):
    """Beside the three fields, `duration`, `title` and `medium` where the publisher gave them."""

    model_config = ConfigDict(extra="allow", frozen=True)

    url: str
    type: str | None
    length: int | None


class VersionRecord(NounRecord):
    """An entry as it was before an edit."""

    version: int
    replaced_at: Moment
    content_hash: str
    raw_ref: RawRefRecord
    entry: Annotated[dict[str, Any], BeforeValidator(_decode_snapshot)] = Field(
        validation_alias="snapshot", description="The replaced fields, as they were stored."
    )


class EntryRecord(NounRecord):
    entry_uid: str = Field(validation_alias="uid")
    feed_id: str
    canonical_link: str | None
    title: str | None
    summary: str | None
    content: str | None
    authors: Annotated[list[PersonRecord], _StoredAsJson]
    categories: Annotated[list[str], _StoredAsJson]
    enclosures: Annotated[list[EnclosureRecord], _StoredAsJson]
    published: Moment | None
    updated: Moment | None
    first_seen: Moment
    last_seen: Moment
    seen_count: int
    raw_refs: list[RawRefRecord]
    content_hash: str
    version: int
    is_present: bool = Field(description="It is in the newest document of its feed.")
    details: Annotated[dict[str, Any], _StoredAsJson] = Field(
        description="Facts that have no field of their own."
    )
    versions: list[VersionRecord] | None = Field(None, description="Only with ?versions=1.")


class AliasRecord(NounRecord):
    alias_uid: str
    entry_uid: str
    fetch_id: str
    made_at: Moment
    undone_at: Moment | None


class EntryPage(Record):
    entries: list[EntryRecord]
    next_cursor: str | None


class AliasPage(Record):
    aliases: list[AliasRecord]


class UndoneAliasRecord(Record):
    feed_id: str
    alias_uid: str
    undone: bool
