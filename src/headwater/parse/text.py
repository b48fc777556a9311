"""Read text constructs: the text of an element, and whether it is plain text, HTML or XHTML."""

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
# The first word of HTML's text, up to a reference or a tag in it.
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
    """Value and kind of a text construct. The kind is `default` when no attribute names it."""
    # To ask for all attributes is cheaper than to ask for one, when there are none.
    declared = element.get("type") if context.is_atom or element.keys() else None
    if len(element):
        return _markup(element, _kind(declared, default, element), context)
    value, kind = (element.text or "").strip(), default
    if context.lifted and value[:1] == PLACEHOLDER:
        value = context.lifted.pop(value, value).strip()
    if value[-3:] == "]]>" and value.startswith("<![CDATA["):
        value = value[9:-3].strip()  # a tool escaped the section as a whole
    if declared is not None or context.is_atom:
        kind = _kind(declared, default, element)
        if _is_base64(element, kind, value, context):
            return _decode_base64(value, kind, element, context), kind
    if kind == "text":
        if ("<" in value or "&" in value) and not context.is_atom and looks_like_html(value):
            kind = "html"
            value = with_absolute_links(value, context.base_of(element), context.relative)
    elif kind == "xhtml":  # it is XML, so escaped markup in it is text
        value = escape(value, quote=False)
    elif context.relative and value:
        value = with_absolute_links(value, context.base_of(element), context.relative)
    return value, kind


def cut_body(value: str, kind: str, code: str, context: Context) -> str:
    """Cut a body to the bytes that it may have, without a torn end."""
    limit = context.limits.content_bytes
    shorter = cut_bytes(value, limit)
    if len(shorter) == len(value):
        return value
    context.tally.note(code, f"longer than {limit} bytes, cut")
    return shorter if kind == "text" else _without_torn_end(shorter)


def shorten_text(value: str, limit: int, context: Context) -> str:
    """Cut a minor field to so many characters, and note the cut."""
    if len(value) <= limit:
        return value
    context.tally.note("text_cut", f"longer than {limit} characters, cut")
    return value[:limit]


def looks_like_html(value: str) -> bool:
    """Whether a text has only known tags and known entities. A wrong yes would lose words."""
    if _CLOSING.search(value) is None:
        return False
    if any(tag.lower() not in _MARKUP for tag in _TAG.findall(value)):
        return False
    return all(f"{name};" in html.entities.html5 for name in _ENTITY.findall(value))


def strip_markup(value: str) -> str:
    """The plain text of a field that has no kind: drop the markup, and resolve references."""
    return without_controls(unescaped(_ANY_TAG.sub("", value))).strip()


def says_the_same(more: Text, summary: Text | None) -> bool:
    """Whether a text repeats the summary word for word, perhaps without its markup, as podcasts do
    for iTunes. Such a text is no body."""
    if not more.value:
        return True  # nothing was left of the text
    if summary is None or len(more.value) > len(summary.value):
        return False
    if more.type == summary.type or more.type != "text":
        return more.value == summary.value
    # Nearly all differ in their first words, and to take tags out of a long text is slow.
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
        prefixes = _prefixes(element)
        prefixes.add("xhtml")  # often not declared
        if any(prefix and f"<{prefix}:" in outer for prefix in prefixes):
            inner = _PREFIXED.sub(r"<\1", inner)
    return _without_shortcuts(inner) if "/>" in inner else inner


def _prefixes(element: etree._Element) -> set[str | None]:
    """Prefixes declared around an element and on its first child. Others are not worth a walk."""
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
    # Atom 0.3 and XHTML bodies in RSS have no such wrapper: there a div is content.
    is_xml = kind.endswith(("/xml", "+xml"))  # in other XML a div is content too
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
    """Addresses below an `xml:base` inside the markup are not relative to the outer base."""
    outside = element.base
    for inner in element.iterdescendants():
        if isinstance(inner.tag, str) and inner.base != outside:
            base = context.base_of(inner)
            for name in ADDRESS_ATTRIBUTES.intersection(inner.keys()):
                address = absolute_value(name, base, str(inner.get(name)))
                if address is not None:
                    inner.set(name, address)


def _only_div(element: etree._Element) -> etree._Element | None:
    """The `div` that Atom wraps XHTML into. It is no part of the content."""
    if len(element) != 1 or (element.text or "").strip():
        return None
    child = element[0]
    if not isinstance(child.tag, str) or child.tag.rpartition("}")[2].lower() != "div":
        return None
    return None if (child.tail or "").strip() else child


def _cut_depth(element: etree._Element, context: Context) -> bool:
    """Remove elements that are nested too deep. Returns whether there were any."""
    limit = context.limits.depth
    deeper = _TOO_DEEP_AT.get(limit)
    if deeper is None:
        deeper = _TOO_DEEP_AT[limit] = etree.XPath("*/" * limit + "*")
    too_deep = deeper(element)
    if not isinstance(too_deep, list) or not too_deep:
        return False
    context.tally.note("depth_cut", f"nested deeper than {limit} elements, cut")
    for child in too_deep:
        if isinstance(child, etree._Element) and (parent := child.getparent()) is not None:
            parent.remove(child)
    return True


def _kind(declared: str | None, default: str, element: etree._Element) -> str:
    """Only a content may have another media type. Elsewhere an unknown type is ignored."""
    if declared is None:
        return default
    kind = KINDS.get(declared)
    if kind is not None:
        return kind
    declared = declared.partition(";")[0].strip().lower()
    kind = KINDS.get(declared)
    if kind is None and "/" in declared and str(element.tag).lower().endswith("content"):
        return declared
    return kind or default


def _is_base64(element: etree._Element, kind: str, value: str, context: Context) -> bool:
    """Whether the value is base64: a `mode` declares it before Atom 1.0, the media type since."""
    if "/" not in kind and context.unwraps_div and " " in value:
        return False  # with several words there is no need to look for the rare mode
    if element.get("mode") == "base64":
        return True
    return "/" in kind and not kind.startswith("text/") and not kind.endswith(("+xml", "/xml"))


def _decode_base64(value: str, kind: str, element: etree._Element, context: Context) -> str:
    """Decode base64. The search for attributes in the whole document could not look into it."""
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
