"""A parsed entry → the entry as it is kept: canonical link, JSON lists, content hash."""

from datetime import datetime
from hashlib import sha256
from typing import Any, Literal

import orjson

from headwater.merge.entry import Entry
from headwater.parse.document import Entry as Parsed
from headwater.parse.document import Link, Person, Text
from headwater.values.ids import key_of
from headwater.values.instant import rfc3339, to_micros
from headwater.values.url import canonical

Emails = Literal["keep", "redact", "hash"]


def normal(parsed: Parsed, uid: str, emails: Emails = "keep") -> Entry:
    link = canonical(parsed.link) if parsed.link else None
    content = parsed.content
    authors = _json([_person(person, emails) for person in parsed.authors])
    categories = _json(_terms(parsed))
    enclosures = _json([_enclosure(enclosure) for enclosure in parsed.enclosures])
    title = parsed.title.value if parsed.title else None
    summary = parsed.summary.value if parsed.summary else None
    body = content.value if content else None
    offset, length = parsed.fragment or (None, None)
    return Entry(
        uid=uid,
        uid_key=key_of(uid),
        link=link,
        link_key=key_of(link) if link else None,
        title=title,
        summary=summary,
        content=body,
        authors=authors,
        categories=categories,
        enclosures=enclosures,
        details=_json(_details(parsed, emails)),
        published=_micros(parsed.published),
        updated=_micros(parsed.updated),
        content_hash=_hash(title, summary, body, link, authors, categories, enclosures),
        offset=offset,
        length=length,
    )


def _hash(*parts: str | None) -> str:
    """Dates stay out: feeds that stamp every item with the time of day are not edits."""
    return sha256(orjson.dumps(parts)).hexdigest()


def _terms(parsed: Parsed) -> list[str]:
    """Each category once, in order; a label says it better than a code."""
    return list(
        dict.fromkeys(c.term or c.label or "" for c in parsed.categories if c.term or c.label)
    )


def _person(person: Person, emails: Emails) -> dict[str, str | None]:
    email = person.email
    if email and emails != "keep":
        email = sha256(email.lower().encode()).hexdigest() if emails == "hash" else None
    return {"name": person.name, "email": email, "uri": person.uri}


def _enclosure(enclosure: Any) -> dict[str, Any]:
    plain = {"url": enclosure.url, "type": enclosure.type, "length": enclosure.length}
    extra = {name: getattr(enclosure, name) for name in ("duration", "title", "medium")}
    return plain | {name: value for name, value in extra.items() if value is not None}


def _details(parsed: Parsed, emails: Emails) -> dict[str, Any]:
    """What has no column of its own; only what is there."""
    source = parsed.source
    everything: dict[str, Any] = {
        "native_id": parsed.native_id,
        "id_is_permalink": parsed.id_is_permalink,
        "title_type": _type(parsed.title),
        "summary_type": _type(parsed.summary),
        "content_type": parsed.content.type if parsed.content else None,
        "links": [_link(link) for link in parsed.links],
        "comments": parsed.comments,
        "contributors": [_person(person, emails) for person in parsed.contributors],
        "created": _moment(parsed.created),
        "expired": _moment(parsed.expired),
        "source": source and {"title": source.title, "link": source.link, "id": source.id},
        "language": parsed.language,
        "rights": parsed.rights,
        "thumbnails": list(parsed.thumbnails),
        "extensions": parsed.extensions,
    }
    return {name: value for name, value in everything.items() if value}


def _type(text: Text | None) -> str | None:
    return text.type if text and text.type != "text" else None


def _link(link: Link) -> dict[str, Any]:
    fields = {name: getattr(link, name) for name in ("href", "rel", "type", "title", "length")}
    return {name: value for name, value in fields.items() if value is not None}


def _moment(moment: datetime | None) -> str | None:
    return rfc3339(moment) if moment else None


def _micros(moment: datetime | None) -> int | None:
    return to_micros(moment) if moment else None


def _json(value: Any) -> str:
    return orjson.dumps(value, default=_plain).decode()


def _plain(value: Any) -> Any:
    """Dataclasses go by their fields without help; text wrappers and mappings need a word."""
    if isinstance(value, Text):
        return value.value
    return dict(value)
