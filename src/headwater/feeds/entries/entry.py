"""An entry as it is kept: normalised, with the keys and the hash by which it is recognised."""

from typing import NamedTuple


class NormalisedEntry(NamedTuple):
    """One entry of one document, ready to be compared and stored.

    Lists are JSON text already: they are made in the parse process and stored as they are.
    Moments are microseconds. `offset` and `length` locate its own XML in the decoded document.
    """

    uid: str
    uid_key: bytes
    link: str | None
    link_key: bytes | None
    title: str | None
    summary: str | None
    content: str | None
    authors: str
    categories: str
    enclosures: str
    details: str
    published: int | None
    updated: int | None
    content_hash: str
    offset: int | None
    length: int | None


class KnownEntry(NamedTuple):
    """What the database remembers of an entry, as far as comparing needs it.

    `present_since` is the ordinal of the feed's document with which its present run began,
    or None when it was not in the newest document. When that one ended early and did not show it,
    it is the ordinal of the next: it counts as present, but no document is counted in which it
    was not seen.
    """

    uid: str
    uid_key: bytes
    link_key: bytes | None
    content_hash: str
    version: int
    present_since: int | None


def order_moment(published: int | None, updated: int | None, first_seen: int) -> int:
    """Many feeds say only `updated`. Missing and future dates order by when we first saw it."""
    said = updated if published is None else published
    return first_seen if said is None or said > first_seen else said
