"""What the publishers have to say, and what they were asked."""

from dataclasses import asdict, dataclass, field

from bench.poll.documents import Served


@dataclass(slots=True)
class Counts:
    """What was asked since somebody looked."""

    requests: int = 0
    conditional: int = 0
    not_modified: int = 0
    other: int = 0
    asked: set[int] = field(default_factory=set)

    def as_json(self) -> dict[str, int]:
        return {**asdict(self), "asked": len(self.asked)}


@dataclass(frozen=True, slots=True)
class Answers:
    """The bytes of a server's two answers, and what tells which of them is due."""

    whole: bytes
    unchanged: bytes
    etag: bytes
    served: Served


@dataclass(slots=True)
class Feed:
    """`now` is one of the other two; most feeds have no news."""

    now: Answers
    first: Answers
    later: Answers

    @classmethod
    def of(cls, first: Served, later: Served | None) -> "Feed":
        old = answers_of(first)
        return cls(old, old, old if later is None else answers_of(later))


def answers_of(feed: Served) -> Answers:
    common = (
        "Date: Sun, 01 Jun 2025 12:00:00 GMT\r\nServer: origin\r\n"
        f"ETag: {feed.etag}\r\nLast-Modified: {feed.last_modified}\r\n"
        "Cache-Control: max-age=900\r\nVary: Accept-Encoding\r\n"
    )
    whole = (
        f"HTTP/1.1 200 OK\r\n{common}Content-Type: {feed.content_type}\r\n"
        f"Content-Encoding: gzip\r\nContent-Length: {len(feed.coded)}\r\n\r\n"
    )
    unchanged = f"HTTP/1.1 304 Not Modified\r\n{common}\r\n"
    return Answers(whole.encode() + feed.coded, unchanged.encode(), feed.etag.encode(), feed)
