"""Text constructs: what an element says, and whether that is text, HTML or XHTML."""

import base64
import binascii
import html.entities
import re
from html import escape

from lxml import etree

from headwater.core.values.html_entities import unescaped
from headwater.parse.document import Text
from headwater.parse.draft import Context
from headwater.parse.lift import PLACEHOLDER
from headwater.parse.limits import cut_bytes
from headwater.parse.relative_links import (
    ADDRESS_ATTRIBUTES,
    ALL_ATTRIBUTES,
    absolute_value,
    with_absolute_links,
)
from headwater.parse.repair_text import without_controls

_VOID = frozenset(
    "area base basefont br col embed frame hr img input link meta param source track wbr".split()
)
_MARKUP = frozenset(
    "a abbr acronym address area article aside audio b bdi bdo big blockquote br button canvas "
    "caption center cite code col colgroup command datagrid datalist dd del details dfn dialog "
    "dir div dl dt em event-source fieldset figcaption figure font footer form frame h1 h2 h3 h4 "
    "h5 h6 header hr i iframe img input ins kbd keygen label legend li m map mark menu meter "
    "multicol nav nextid noscript ol optgroup option output p picture pre progress q rp rt ruby s "
    "samp section select small sound source spacer span strike strong sub sup table tbody td "
    "textarea tfoot th thead time tr tt u ul var video wbr".split()
)
_CLOSING = re.compile(r"</\w+>|&#?\w+;")
_TAG = re.compile(r"</?(\w+)")
_ANY_TAG = re.compile(r"</?[A-Za-z][^<>]*>")
_ENTITY = re.compile(r"&(\w+);")
# What the words of HTML begin with, as far as no reference and no tag is in it.
_FIRST_WORD = re.compile(r"(?:\s++|</?[A-Za-z][^<>]*+>)*+([^\s<&\x00-\x1f\x7f-\x9f\ufffe\uffff]*+)")
_NAME = re.compile(r"[A-Za-z_][\w.:-]*")
_PREFIXED = re.compile(r"<(/?)[A-Za-z_][\w.-]*+:(?=[A-Za-z])")
_DECLARATION = re.compile(r' xmlns(?::[\w.-]+)?="[^"]*"')
_ATOM = "{http://www.w3.org/2005/Atom}"
_TOO_DEEP_AT: dict[int, etree.XPath] = {}

KINDS = {
    "text": "text",
    "plain": "text",
    "text/plain": "text",
    "html": "html",
    "text/html": "html",
    "xhtml": "xhtml",
    "application/xhtml+xml": "xhtml",
}


def text_of(element: etree._Element) -> str:
    """All text inside an element, trimmed: for names, dates, numbers and addresses."""
    if len(element):
        return "".join(element.itertext()).strip()
    text = element.text
    return text.strip() if text is not None else ""


def read_text_construct(element: etree._Element, default: str, context: Context) -> tuple[str, str]:
    """Value and kind of a text construct; the kind is `default` when nothing is said."""
    # Asking for all attributes is cheaper than asking for one, when there are none.
    given = element.get("type") if context.is_atom or element.keys() else None
    if len(element):
        return _markup(element, _kind(given, default, element), context)
    value, kind = (element.text or "").strip(), default
    if context.lifted and value[:1] == PLACEHOLDER:
        value = context.lifted.pop(value, value).strip()
    if value[-3:] == "]]>" and value.startswith("<![CDATA["):
        value = value[9:-3].strip()  # escaped as a whole, by a tool that meant it well
    if given is not None or context.is_atom:
        kind = _kind(given, default, element)
        if _is_base64(element, kind, value, context):
            return _decode_base64(value, kind, element, context), kind
    if kind == "text":
        if ("<" in value or "&" in value) and not context.is_atom and looks_like_html(value):
            kind = "html"
            value = with_absolute_links(value, context.base_of(element), context.relative)
    elif kind == "xhtml":  # which is XML, so that what is escaped in it is text
        value = escape(value, quote=False)
    elif context.relative and value:
        value = with_absolute_links(value, context.base_of(element), context.relative)
    return value, kind


def cut_body(value: str, kind: str, code: str, context: Context) -> str:
    """At most as many bytes as a body may have, without a torn end."""
    limit = context.limits.content_bytes
    shorter = cut_bytes(value, limit)
    if len(shorter) == len(value):
        return value
    context.tally.note(code, f"longer than {limit} bytes, cut")
    return shorter if kind == "text" else _without_torn_end(shorter)


def shorten_text(value: str, limit: int, context: Context) -> str:
    """At most so many characters of a minor field; a cut is told."""
    if len(value) <= limit:
        return value
    context.tally.note("text_cut", f"longer than {limit} characters, cut")
    return value[:limit]


def looks_like_html(value: str) -> bool:
    """Conservative, because a wrong yes loses words: only known tags and known entities."""
    if _CLOSING.search(value) is None:
        return False
    if any(tag.lower() not in _MARKUP for tag in _TAG.findall(value)):
        return False
    return all(f"{name};" in html.entities.html5 for name in _ENTITY.findall(value))


def strip_markup(value: str) -> str:
    """The words of a value whose field knows no kind: markup goes, references are resolved."""
    return without_controls(unescaped(_ANY_TAG.sub("", value))).strip()


def says_the_same(more: Text, summary: Text | None) -> bool:
    """Word for word, perhaps without the markup, as podcasts say it to iTunes: no body."""
    if not more.value:
        return True  # nothing was left of it
    if summary is None or len(more.value) > len(summary.value):
        return False
    if more.type == summary.type or more.type != "text":
        return more.value == summary.value
    # Nearly all differ in their first words, and taking tags out of a long text is slow.
    word, other = more.value.split(None, 1)[0], _FIRST_WORD.match(summary.value)
    if other and not other[1].startswith(word) and not word.startswith(other[1]):
        return False
    return "".join(more.value.split()) == "".join(strip_markup(summary.value).split())


def inner_markup(element: etree._Element, context: Context) -> str:
    """The XML inside an element, without prefixes and namespace declarations."""
    outer = etree.tostring(element, encoding="unicode", with_tail=False)
    if outer.count("</") > context.limits.depth and _cut_depth(element, context):
        outer = etree.tostring(element, encoding="unicode", with_tail=False)
    inner = outer[outer.index(">") + 1 : outer.rindex("<")]
    if "xmlns" in inner:
        inner = _DECLARATION.sub("", inner)
    if _PREFIXED.search(inner) is not None:
        known = _prefixes(element)
        known.add("xhtml")  # often not declared
        if any(prefix and f"<{prefix}:" in outer for prefix in known):
            inner = _PREFIXED.sub(r"<\1", inner)
    return _without_shortcuts(inner) if "/>" in inner else inner


def _prefixes(element: etree._Element) -> set[str | None]:
    """Those declared around an element and on its first child; others are not worth a walk."""
    return set(element.nsmap) | set(element[0].nsmap) if len(element) else set()


def _without_shortcuts(markup: str) -> str:
    """`<a/>` is an open tag to HTML: only void elements may end in a slash.

    Serialised text holds no other angle brackets, so the tag starts at the last "<".
    """
    pieces: list[str] = []
    done = 0
    at = markup.find("/>")
    while at >= 0:
        start = markup.rfind("<", done, at)
        name = _NAME.match(markup, start + 1)
        if name is not None:
            end = " />" if name[0] in _VOID else f"></{name[0]}>"
            pieces += (markup[done:at], end)
            done = at + 2
        at = markup.find("/>", at + 2)
    return "".join((*pieces, markup[done:]))


def _markup(element: etree._Element, kind: str, context: Context) -> tuple[str, str]:
    """Child elements make a text XHTML, whatever it claims to be."""
    # Atom 0.3 and XHTML bodies in RSS have no such wrapper: there a div is a div.
    is_xml = kind.endswith(("/xml", "+xml"))  # in which a div is content, as all else
    may_wrap = context.unwraps_div or kind != "xhtml" or element.tag.startswith(_ATOM)
    wrapper = _only_div(element) if may_wrap and not is_xml else None
    element = element if wrapper is None else wrapper
    value = inner_markup(element, context).strip()
    if context.has_base and " xml:base=" in value:
        _resolve_inner_bases(element, context)
        value = inner_markup(element, context).strip()
    if context.relative and value:
        value = with_absolute_links(value, context.base_of(element), context.relative)
    return value, kind if is_xml else "xhtml"


def _resolve_inner_bases(element: etree._Element, context: Context) -> None:
    """Addresses below an `xml:base` inside the markup are not relative to what is around it."""
    outside = element.base
    for inner in element.iterdescendants():
        if isinstance(inner.tag, str) and inner.base != outside:
            base = context.base_of(inner)
            for name in ADDRESS_ATTRIBUTES.intersection(inner.keys()):
                found = absolute_value(name, base, str(inner.get(name)))
                if found is not None:
                    inner.set(name, found)


def _only_div(element: etree._Element) -> etree._Element | None:
    """Atom wraps XHTML into a `div` that is no part of the content."""
    if len(element) != 1 or (element.text or "").strip():
        return None
    child = element[0]
    if not isinstance(child.tag, str) or child.tag.rpartition("}")[2].lower() != "div":
        return None
    return None if (child.tail or "").strip() else child


def _cut_depth(element: etree._Element, context: Context) -> bool:
    """Whether elements had to be left out because they were nested too deep."""
    limit = context.limits.depth
    deeper = _TOO_DEEP_AT.get(limit)
    if deeper is None:
        deeper = _TOO_DEEP_AT[limit] = etree.XPath("*/" * limit + "*")
    found = deeper(element)
    if not isinstance(found, list) or not found:
        return False
    context.tally.note("depth_cut", f"nested deeper than {limit} elements, cut")
    for child in found:
        if isinstance(child, etree._Element) and (parent := child.getparent()) is not None:
            parent.remove(child)
    return True


def _kind(given: str | None, default: str, element: etree._Element) -> str:
    """Only a content may be of another media type; elsewhere it says nothing that we know."""
    if given is None:
        return default
    known = KINDS.get(given)
    if known is not None:
        return known
    given = given.partition(";")[0].strip().lower()
    known = KINDS.get(given)
    if known is None and "/" in given and str(element.tag).lower().endswith("content"):
        return given
    return known or default


def _is_base64(element: etree._Element, kind: str, value: str, context: Context) -> bool:
    """Said by a `mode` before Atom 1.0, by the media type since."""
    if "/" not in kind and context.unwraps_div and " " in value:
        return False  # more than one word needs no look at a mode that is hardly ever there
    if element.get("mode") == "base64":
        return True
    return "/" in kind and not kind.startswith("text/") and not kind.endswith(("+xml", "/xml"))


def _decode_base64(value: str, kind: str, element: etree._Element, context: Context) -> str:
    """What base64 hid, also from the search for attributes in the whole document."""
    value = _unbase64(value).strip()
    if kind not in ("html", "xhtml"):
        return value
    return with_absolute_links(value, context.base_of(element), ALL_ATTRIBUTES)


def _unbase64(value: str) -> str:
    try:
        return without_controls(base64.b64decode(value, validate=False).decode("utf-8"))
    except (binascii.Error, ValueError):
        return value


def _without_torn_end(value: str) -> str:
    """A cut must not leave half an entity or half a tag behind."""
    for opening, closing in (("&", ";"), ("<", ">")):
        at = value.rfind(opening)
        if at > value.rfind(closing) and (opening == "<" or len(value) - at < 32):
            value = value[:at]
    return value
