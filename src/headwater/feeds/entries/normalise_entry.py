"""Normalise a parsed entry for storage: canonical link, JSON lists, content hash."""

import re
from datetime import datetime
from hashlib import sha256
from typing import Any, Literal

import orjson

from headwater.core.values.ids import index_key
from headwater.core.values.instant import rfc3339, to_micros
from headwater.core.values.url import canonical
from headwater.feeds.entries.entry import NormalisedEntry
from headwater.parse.document import Content, Enclosure, Entry, Link, Person, Text

Emails = Literal["keep", "redact", "hash"]

_PART = r"[^\s@<>()\[\],;:\"]"
_ADDRESS = re.compile(
    rf"[<(\[]?(?<![@\w])({_PART}{{1,64}}@{_PART}{{1,255}}\.{_PART}{{2,63}})[>)\]]?"
)
"""An e-mail address inside a name. `@ann@social.example` is none."""


def normalise_entry(parsed: Entry, uid: str, emails: Emails = "keep") -> NormalisedEntry:
    link = canonical(parsed.link) if parsed.link else None
    content = parsed.content
    authors = _json([_person(person, emails) for person in parsed.authors])
    categories = _json(_terms(parsed)) if parsed.categories else "[]"
    enclosures = _json([_enclosure(enclosure) for enclosure in parsed.enclosures])
    title = parsed.title.value if parsed.title else None
    summary = parsed.summary.value if parsed.summary else None
    body = content.value if content else None
    offset, length = parsed.fragment or (None, None)
    return NormalisedEntry(
        uid=uid,
        uid_key=index_key(uid),
        link=link,
        link_key=index_key(link) if link else None,
        title=title,
        summary=summary,
        content=body,
        authors=authors,
        categories=categories,
        enclosures=enclosures,
        details=_json(_details(parsed, content, emails)),
        published=_micros(parsed.published),
        updated=_micros(parsed.updated),
        content_hash=_hash(title, summary, body, link, authors, categories, enclosures),
        offset=offset,
        length=length,
    )


def _hash(*parts: str | None) -> str:
    """Dates are left out: a feed that stamps every item with the time of day has not edited it."""
    return sha256(orjson.dumps(parts)).hexdigest()


def _terms(parsed: Entry) -> list[str]:
    """Each category once, in order; the label when there is no term."""
    return list(
        dict.fromkeys(
            [word for category in parsed.categories if (word := category.term or category.label)]
        )
    )


def _person(person: Person, emails: Emails) -> dict[str, str | None]:
    name, email = person.name, person.email
    if emails != "keep":
        email = _hidden(email, emails) if email else email
        name = _name_without(name, emails) if name and "@" in name else name
    return {"name": name, "email": email, "uri": person.uri}


def _hidden(email: str, emails: Emails) -> str | None:
    return sha256(email.lower().encode()).hexdigest() if emails == "hash" else None


def _name_without(name: str, emails: Emails) -> str | None:
    """Some authors put their address into the name, or that of a second person behind it."""
    left = _ADDRESS.sub(lambda address: _hidden(address[1], emails) or "", name)
    return left.strip(" \t,;") or None


def _enclosure(enclosure: Enclosure) -> dict[str, Any]:
    fields: dict[str, Any] = {
        "url": enclosure.url,
        "type": enclosure.type,
        "length": enclosure.length,
    }
    if enclosure.duration is not None:
        fields["duration"] = enclosure.duration
    if enclosure.title is not None:
        fields["title"] = enclosure.title
    if enclosure.medium is not None:
        fields["medium"] = enclosure.medium
    return fields


def _details(parsed: Entry, content: Content | None, emails: Emails) -> dict[str, Any]:
    """The fields without a column of their own, those that are there."""
    fields = {name: value for name, value in _as_it_is(parsed) if value}
    if (title := parsed.title) and title.type != "text":
        fields["title_type"] = title.type
    if (summary := parsed.summary) and summary.type != "text":
        fields["summary_type"] = summary.type
    if content:
        fields["content_type"] = content.type
    if parsed.links:
        fields["links"] = [_link(link) for link in parsed.links]
    if parsed.contributors:
        fields["contributors"] = [_person(person, emails) for person in parsed.contributors]
    if parsed.created:
        fields["created"] = rfc3339(parsed.created)
    if parsed.expired:
        fields["expired"] = rfc3339(parsed.expired)
    if source := parsed.source:
        fields["source"] = {"title": source.title, "link": source.link, "id": source.id}
    return fields


def _as_it_is(parsed: Entry) -> tuple[tuple[str, Any], ...]:
    return (
        ("native_id", parsed.native_id),
        ("id_is_permalink", parsed.id_is_permalink),
        ("comments", parsed.comments),
        ("language", parsed.language),
        ("rights", parsed.rights),
        ("thumbnails", parsed.thumbnails),
        ("extensions", parsed.extensions),
    )


def _link(link: Link) -> dict[str, Any]:
    """Most links have only `href`, `rel` and `type`: the other fields are left out when empty."""
    fields: dict[str, Any] = {"href": link.href, "rel": link.rel}
    if link.type is not None:
        fields["type"] = link.type
    if link.title is not None:
        fields["title"] = link.title
    if link.length is not None:
        fields["length"] = link.length
    if link.hreflang is not None:
        fields["hreflang"] = link.hreflang
    return fields


def _micros(moment: datetime | None) -> int | None:
    return to_micros(moment) if moment else None


def _json(value: Any) -> str:
    if not value:
        return "[]" if isinstance(value, list) else "{}"
    return orjson.dumps(value, default=_plain).decode()


def _plain(value: Any) -> Any:
    """orjson encodes dataclasses by itself; text wrappers and mappings need this help."""
    if isinstance(value, Text):
        return value.value
    return dict(value)
