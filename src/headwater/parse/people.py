"""Read people with their names, addresses and pages, in all the ways in which feeds write them."""

import re
from functools import lru_cache

from lxml import etree

from headwater.core.values.url import resolve
from headwater.parse.document import Person
from headwater.parse.draft import Context, Draft
from headwater.parse.namespaces import plain_name
from headwater.parse.text import looks_like_html, shorten_text, strip_markup, text_of

# Letters with accents count, others do not: a Chinese name may stand right before an address.
_LETTER = r"A-Za-z0-9\u00c0-\u024f"
_EMAIL = re.compile(
    rf"(?:mailto:)?([{_LETTER}_][{_LETTER}_.+'%-]{{0,63}}@(?:[{_LETTER}-]{{1,63}}\.){{1,8}}"
    r"[A-Za-z0-9]{2,24})(?:\?subject=\S+)?"
)
_FIELDS = frozenset(("name", "email", "uri", "url", "homepage", "href"))
NESTED_PERSON = Person()
"""Stands for a person whose fields are in a nested element."""
_EMPTY_BRACKETS = ("()", "<>", "[]", "&lt;&gt;")


def person_from(text: str) -> Person | None:
    """The person of `a@b.c (Name)`, `Name <a@b.c>`, `Name` or `a@b.c`."""
    if not text:
        return None
    match = _EMAIL.search(text) if "@" in text else None
    if match is None:
        name = _readable(text)
        return Person(name, None, None) if name else None
    address: str = match[1]
    # Some publishers repeat the address in place of the name. Another address stays whole.
    name = _EMAIL.sub(lambda email: "" if email[1] == address else email[0], text)
    for brackets in _EMPTY_BRACKETS:
        name = name.replace(brackets, "")
    name = name.strip().removeprefix("mailto:").strip()
    name = _unbracketed(name).strip(" \t\r\n,;:-")
    if name[:1] == name[-1:] == '"' and name.count('"') == 2:  # RFC 822's quoted string
        name = name[1:-1].strip()
    return Person(_readable(name) or None, address, None)


def _unbracketed(name: str) -> str:
    """Remove the brackets around a name. A bracket that belongs to another one inside stays."""
    opened, closed = name.count("("), name.count(")")
    is_around = name[:1] == "(" and name[-1:] == ")"
    if name[:1] == "(" and (is_around or opened > closed):
        name = name[1:]
    if name[-1:] == ")" and (is_around or closed > opened):
        name = name[:-1]
    return name


def _readable(name: str) -> str:
    """The plain name, also when it was escaped twice or is a link to the person's page."""
    return strip_markup(name) if ("&" in name or "<" in name) and looks_like_html(name) else name


def read_author(draft: Draft, element: etree._Element, context: Context) -> None:
    person = _person(element, context)
    if person is not None:
        draft.authors = _with_person(draft.authors, person, context) if draft.authors else (person,)


def read_contributor(draft: Draft, element: etree._Element, context: Context) -> None:
    person = _person(element, context)
    if person is not None:
        draft.contributors = _with_person(draft.contributors, person, context)


def _with_person(people: tuple[Person, ...], new: Person, context: Context) -> tuple[Person, ...]:
    if new in people:
        return people
    for position, earlier in enumerate(people):
        joined = _join_same_person(earlier, new)
        if joined is not None:
            return (*people[:position], joined, *people[position + 1 :])
    if len(people) >= context.limits.people:
        context.tally.note("people_cut", f"more than {context.limits.people} people, cut")
        return people
    return (*people, new)


def _join_same_person(earlier: Person, new: Person) -> Person | None:
    """Podcasts name one person as author and, with an address, as owner. None for two people."""
    if earlier.name is None or earlier.name != new.name:
        return None
    if (earlier.email and new.email and earlier.email != new.email) or (
        earlier.uri and new.uri and earlier.uri != new.uri
    ):
        return None
    return Person(earlier.name, earlier.email or new.email, earlier.uri or new.uri)


def _person(element: etree._Element, context: Context) -> Person | None:
    known = context.people
    if not len(element):
        text = text_of(element)
        if text not in known:
            known[text] = person_from(shorten_text(text, context.limits.title_chars, context))
        return known[text]
    texts = _child_texts(element)
    if context.has_base:
        person = _person_from_children(texts, element, context)
    else:
        key = (context.base, texts)
        if key not in known:
            known[key] = _person_from_children(texts, element, context)
        person = known[key]
    return person if person is not NESTED_PERSON else _nested_person(element, context)


def _child_texts(element: etree._Element) -> tuple[tuple[str, str], ...]:
    return tuple([(child.tag, text_of(child)) for child in element if isinstance(child.tag, str)])


def _person_from_children(
    texts: tuple[tuple[str, str], ...], element: etree._Element, context: Context
) -> Person | None:
    """Read Atom's person: a name, an address and a page, each in an element of its own."""
    limit = context.limits.title_chars
    values: dict[str, str] = {}
    for tag, value in texts:
        if value:
            values.setdefault(_field(tag), shorten_text(value, limit, context))
    if _FIELDS.isdisjoint(values):
        return NESTED_PERSON
    uri = values.get("uri") or values.get("url") or values.get("homepage") or values.get("href")
    if uri is not None and context.has_base:
        element = next((child for child in element if text_of(child) == uri), element)
    return _build_person(values.get("name"), values.get("email"), uri, element, context)


def _nested_person(element: etree._Element, context: Context) -> Person | None:
    """FOAF and RDF put a person into an element of its own. Other markup holds only a name."""
    holder = next((child for child in element if isinstance(child.tag, str) and len(child)), None)
    if holder is not None:
        person = _person_from_children(_child_texts(holder), holder, context)
        if person is not NESTED_PERSON:
            return person
    return person_from(shorten_text(text_of(element), context.limits.title_chars, context))


@lru_cache(maxsize=256)
def _field(tag: str) -> str:
    return plain_name(tag).rpartition(":")[2]


def _build_person(
    name: str | None,
    email: str | None,
    uri: str | None,
    element: etree._Element,
    context: Context,
) -> Person | None:
    from_name = person_from(name) if name and not email else None
    name = (_readable(name) or None) if name else None
    if from_name is not None:
        name, email = from_name.name, from_name.email
    if email is not None:
        email = email.removeprefix("mailto:")
    if uri is not None and not uri.startswith(("http://", "https://")):
        uri = _web_page(uri, context.base_of(element))
    return Person(name, email, uri) if name or email or uri else None


def _web_page(uri: str, base: str | None) -> str | None:
    """A person's page, or None when it is no web address."""
    page = resolve(base, uri)
    return page if page is not None and page.startswith("http") else None
