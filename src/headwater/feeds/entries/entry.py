"""An entry as it is stored: normalised, with the keys and the hash that recognise it."""

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
    """The part of a stored entry that comparing needs.

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
    """The moment by which entries are ordered. Many feeds have only `updated`.

    Without a date, or with one in the future, it is the moment at which we first saw the entry.
    """
    dated = updated if published is None else published
    return first_seen if dated is None or dated > first_seen else dated
