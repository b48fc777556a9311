"""The identity of entries: a uid for each within its feed, and guids that cannot be trusted."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from hashlib import sha256
from struct import Struct
from typing import Any, Protocol

from headwater.core.values.ids import index_key
from headwater.core.values.instant import to_micros
from headwater.core.values.url import canonical
from headwater.parse.document import Text

_LENGTH = Struct(">Q").pack
MOST_AMBIGUOUS = 1_000
"""With more doubtful guids than this, none of the feed's guids are trusted."""


@dataclass(frozen=True, slots=True)
class IdentityMemory:
    """The memory of a feed's guids, from its earlier documents."""

    distrust_all: bool = False
    ambiguous: frozenset[bytes] = field(default_factory=frozenset)

    def as_json(self) -> dict[str, Any]:
        return {
            "distrust_all": self.distrust_all,
            "ambiguous": sorted(key.hex() for key in self.ambiguous),
        }

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> "IdentityMemory":
        return cls(
            bool(stored.get("distrust_all", False)),
            frozenset(bytes.fromhex(key) for key in stored.get("ambiguous", ())),
        )


class Identifiable(Protocol):
    """The facts that identity needs. Entries have them, and so have drafts of entries."""

    @property
    def native_id(self) -> str | None: ...
    @property
    def link(self) -> str | None: ...
    @property
    def title(self) -> Text | None: ...
    @property
    def published(self) -> datetime | None: ...


def identify(
    entries: Sequence[Identifiable], feed_id: str, memory: IdentityMemory
) -> tuple[tuple[str, ...], IdentityMemory]:
    """One uid per entry, in order, and the new memory of the feed's guids.

    The uid is the publisher's own id where there is one and it stands for one thing. Otherwise it
    is a SHA-256 over canonical link, title, publication time and feed.
    """
    memory = _updated_memory(entries, memory)
    if not memory.distrust_all and not memory.ambiguous:
        return tuple([entry.native_id or hashed_uid(entry, feed_id) for entry in entries]), memory
    return tuple(
        entry.native_id
        if entry.native_id and _is_trusted(entry.native_id, memory)
        else hashed_uid(entry, feed_id)
        for entry in entries
    ), memory


def hashed_uid(entry: Identifiable, feed_id: str) -> str:
    """64 hex digits over the facts that identify an entry without a trustworthy id."""
    link = entry.link
    facts = (
        (canonical(link) or link) if link else "",
        entry.title.value if entry.title else "",
        str(to_micros(entry.published)) if entry.published else "",
        feed_id,
    )
    encoded = [fact.encode("utf-8", "surrogatepass") for fact in facts]
    return sha256(b"".join([_LENGTH(len(fact)) + fact for fact in encoded])).hexdigest()


def _is_trusted(native_id: str, memory: IdentityMemory) -> bool:
    return not memory.distrust_all and index_key(native_id) not in memory.ambiguous


def _updated_memory(entries: Sequence[Identifiable], memory: IdentityMemory) -> IdentityMemory:
    if memory.distrust_all:
        return memory
    ids = [entry.native_id for entry in entries if entry.native_id]
    if len(set(ids)) == len(ids):
        return memory
    times = Counter(ids)
    doubtful = _ambiguous_guids([entry for entry in entries if times[entry.native_id or ""] > 1])
    if not doubtful:
        return memory
    most_common = max(times[guid] for guid in doubtful)
    ambiguous = memory.ambiguous | {index_key(guid) for guid in doubtful}
    if (len(ids) > 2 and most_common * 2 > len(ids)) or len(ambiguous) > MOST_AMBIGUOUS:
        return IdentityMemory(True, frozenset())
    return IdentityMemory(False, ambiguous)


def _ambiguous_guids(entries: Sequence[Identifiable]) -> set[str]:
    """Guids that two different entries have: their links differ or, without links, their titles."""
    seen: dict[str, str | None] = {}
    doubtful: set[str] = set()
    for entry in entries:
        guid = entry.native_id
        if guid and seen.setdefault(guid, thing := _link_or_title(entry)) != thing:
            doubtful.add(guid)
    return doubtful


def _link_or_title(entry: Identifiable) -> str | None:
    if entry.link:
        return canonical(entry.link) or entry.link
    return entry.title.value if entry.title else None
