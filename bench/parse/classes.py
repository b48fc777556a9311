"""Classes of difference in which a specification or a second parser stands by Headwater.

Whatever fits none of these counts against Headwater.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from urllib.parse import urlsplit

from bench.parse.corpus import ADDRESS, Sample
from bench.parse.readings import Reading
from headwater.core.values.url import resolve

_HOST = f"https://{urlsplit(ADDRESS).netloc}/"
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_DOUBLE_SLASH = re.compile(r"(?<!:)//+")
_SITE_OFFSET = timedelta(hours=8)


@dataclass(frozen=True, slots=True)
class Case:
    """One difference in one field of one entry."""

    sample: Sample
    place: int
    field: str
    our_entry: Reading
    their_entry: Reading
    second: Reading | None

    @property
    def ours(self) -> str | tuple[str, ...]:
        return self.our_entry.field(self.field)

    @property
    def theirs(self) -> str | tuple[str, ...]:
        return self.their_entry.field(self.field)

    @property
    def opinion(self) -> str:
        """Whose side fastfeedparser takes."""
        if self.second is None:
            return "silent"
        said = self.second.field(self.field)
        return "ours" if said == self.ours else "theirs" if said == self.theirs else "neither"


@dataclass(frozen=True, slots=True)
class Class:
    """A kind of difference, and who stands by us."""

    field: str
    what: str
    because: str
    holds: Callable[[Case], bool]


def _relative_id(case: Case) -> bool:
    ours, theirs = str(case.ours), str(case.theirs)
    return theirs.startswith(_HOST) and not _SCHEME.match(ours)


def _year_one(case: Case) -> bool:
    return not case.ours and str(case.theirs).startswith("0001-01-01T00:00:00")


def _site_time(case: Case) -> bool:
    if b"https://mikanani.me/0.1/" not in case.sample.body or not case.ours or not case.theirs:
        return False
    ours, theirs = (datetime.fromisoformat(str(one)) for one in (case.ours, case.theirs))
    return theirs - ours == _SITE_OFFSET


def _id_as_link(case: Case) -> bool:
    return case.theirs == case.their_entry.id and not str(case.theirs).startswith("http")


def _foreign_description(case: Case) -> bool:
    return not case.their_entry.body and bool(case.our_entry.body) and case.opinion == "ours"


def _second_description(case: Case) -> bool:
    body = case.sample.body
    has_both = b"<content:encoded" in body and b"<dc:description" in body
    return has_both and bool(case.ours) and case.opinion != "theirs"


def _escaped_again(case: Case) -> bool:
    return case.ours == str(case.theirs).replace("&amp;", "&").replace("&lt;", "<")


def _as_published(case: Case) -> bool:
    return case.opinion == "ours" and bool(case.theirs)


def _one_slash(case: Case) -> bool:
    return [_DOUBLE_SLASH.sub("/", one) for one in case.ours] == [
        _DOUBLE_SLASH.sub("/", one) for one in case.theirs
    ]


def _tag_dropped(case: Case) -> bool:
    ours, theirs = list(case.ours), list(case.theirs)
    if b"={" not in case.sample.body:
        return False
    return len(theirs) < len(ours) and [one for one in ours if one in theirs] == theirs


def _relative_files(case: Case) -> bool:
    return [resolve(ADDRESS, one) for one in case.theirs] == list(case.ours)


def _files_of_rss_1(case: Case) -> bool:
    return not case.theirs and b"http://purl.oclc.org/net/rss_2.0/enc#" in case.sample.body


CLASSES = (
    Class(
        "id",
        "a relative guid is resolved against the base; here it stays as given",
        "RSS 2.0 (guid: a string, no rules for its syntax), RFC 4287 §4.2.6.1; fastfeedparser",
        _relative_id,
    ),
    Class(
        "published",
        "1 January of the year 1 is a date; here it is none",
        "RFC 5322 §3.3: the year is 1900 or later",
        _year_one,
    ),
    Class(
        "published",
        "a zone-less date in mikanani's torrent block is UTC; here UTC+8",
        "the site's own time; no specification speaks of it",
        _site_time,
    ),
    Class(
        "link",
        "an id that is no address becomes the link, beside a link to a document that is no page",
        "RFC 4287 §4.2.7.2: the alternate link is the link; fastfeedparser",
        _id_as_link,
    ),
    Class(
        "body",
        "an empty description inside another element replaces the item's own",
        "RSS 2.0: description is a child of item; fastfeedparser",
        _foreign_description,
    ),
    Class(
        "addresses",
        "an empty description inside another element replaces the item's own",
        "RSS 2.0: description is a child of item; fastfeedparser",
        _foreign_description,
    ),
    Class(
        "body",
        "a second description comes before content:encoded",
        "RSS 1.0 content module: content:encoded is the item's content; feedparser-rs",
        _second_description,
    ),
    Class(
        "body",
        "an ampersand in a script is escaped again",
        "HTML standard §13.1.2: script is raw text; fastfeedparser",
        _escaped_again,
    ),
    Class(
        "body",
        "markup that is none (a line of code) is written anew; here it stays as published",
        "RSS 2.0: the description is the publisher's; fastfeedparser",
        _as_published,
    ),
    Class(
        "addresses",
        "two slashes in a relative path become one",
        "RFC 3986 §5.2.4 removes dot segments only",
        _one_slash,
    ),
    Class(
        "addresses",
        "a tag with braces in its attributes is dropped",
        "HTML standard §13.2.5.38: any text may be an unquoted value",
        _tag_dropped,
    ),
    Class(
        "enclosures",
        "a relative address stays relative; here it is resolved",
        "RFC 3986 §5.1; RSS 2.0: the url of an enclosure is an http url",
        _relative_files,
    ),
    Class(
        "enclosures",
        "those of RSS 1.0's module are left out",
        "the enclosure module of RSS 1.0: they are what RSS 2.0's are",
        _files_of_rss_1,
    ),
)
