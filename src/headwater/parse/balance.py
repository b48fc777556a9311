"""Tags put in order: a document whose elements do not close properly, made well-formed."""

import re
from collections import Counter
from dataclasses import dataclass, field
from functools import lru_cache

from headwater.parse.limits import Tally
from headwater.parse.sections import CDATA, MARKUP, sections

# An address in angle brackets, <a@b.org> or <https://b.org>, is no tag.
# Quoted values stop soon after a "<", so that no quote can make the scan look far ahead twice.
# One that holds whole tags must end where a value ends: else it is one that lost its quote.
_TOKEN = re.compile(
    rb"<\?[^<]*?\?>"
    rb"|<(/\s*+)?([A-Za-z_][\w:.-]*+)(?!@|(?<=:)//)((?:[^<>\"']++"
    rb"|\"[^\"<]*+(?:(?:<[^\"<>=]{0,80}+)?\"|<[^\"]{0,200}+(?<!=)\"(?=[\s/>]))"
    rb"|'[^'<]*+(?:(?:<[^'<>=]{0,80}+)?'|<[^']{0,200}+(?<!=)'(?=[\s/>])))*+)>"
    rb"|<(/\s*+)?([A-Za-z_][\w:.-]*+)(?!@|(?<=:)//)([^<>]*+)>"
    # tags that lost their brackets: any end, and the beginnings that matter most
    rb"|<(/)([A-Za-z_][\w:.-]*+)\s*(?=<)()"
    rb"|<()(rss|feed|channel|item|entry|title|link|description)((?:\s[^<>]*+)?)(?=<)"
    rb"|<!?",
)
_SOUND = re.compile(rb"""(?:\s+[A-Za-z_][\w:.-]*\s*=\s*(?:"[^"<]*"|'[^'<]*'))*\s*""")
_ATTRIBUTE = re.compile(
    rb"""([A-Za-z_][\w:.-]*)(?:\s*=\s*("[^"]*(?:"|\Z)|'[^']*(?:'|\Z)|[^\s"'<>]+))?"""
)
_BARE_VALUE = re.compile(rb"=[^\s\"'<>=]+/\Z")
_TORN_TAG = re.compile(rb"<(?:/|[A-Za-z_])[^<>]*+\Z")
_TAG_NAME = re.compile(rb"<(/?[A-Za-z_][\w:.-]*+)(?![^<>]*+(?<=/)>)")

_NO_TAG = (b"", None, b"")
ENTRIES = frozenset((b"item", b"entry"))
_VOID = frozenset((b"br", b"hr", b"img", b"input", b"meta", b"wbr", b"area", b"embed"))
_PARENTS = frozenset((b"channel", b"rss", b"rdf", b"feed", b"items"))
_STRUCTURE = ENTRIES | _PARENTS
_PLAIN_FIELDS = frozenset(
    (b"title", b"link", b"guid", b"pubdate", b"category", b"comments", b"author")
)
# No markup of text: one that begins in a field that was not closed stands after it.
_OTHER_FIELDS = frozenset(
    b"description enclosure language copyright generator lastbuilddate image ttl id updated"
    b" published summary content rights subtitle name email uri modified issued created"
    b" managingeditor webmaster docs cloud rating textinput skiphours skipdays contributor logo"
    b" icon tagline keywords expirationdate abstract info fullitem".split()
)
_PREFIXES = frozenset(
    b"admin atom cc content creativecommons dc dcterms feedburner geo georss googleplay itunes"
    b" media podcast slash sy thr wfw".split()
)
_GROUPS = frozenset((b"author", b"contributor", b"source", b"image", b"group", b"owner"))


@dataclass(slots=True)
class Balanced:
    """The repaired text; `is_cut` when the document ended before its root did.

    `is_verbatim` when every tag in it is written as in the document: only ends were added.
    """

    document: bytes
    is_cut: bool
    is_verbatim: bool


@dataclass(slots=True)
class _State:
    depth: int
    unclosed: frozenset[bytes]
    surplus: dict[bytes, int]
    pieces: list[bytes] = field(default_factory=list)
    stack: list[bytes] = field(default_factory=list)
    entry_starts: list[int] = field(default_factory=list)
    repairs: int = 0
    is_verbatim: bool = True
    root_closed: bool = False


def balanced(document: bytes, depth: int, tally: Tally) -> Balanced:
    """One pass, a stack of open elements, linear in the length of the document."""
    state = _State(depth, *_unclosed_and_surplus(document))
    document, torn_tag = _without_torn_tag(document)
    is_torn = False
    for kind, text, is_closed in sections(document):
        if kind == CDATA:
            state.pieces.append(text if is_closed else text + b"]]>")
        elif kind == MARKUP:
            _balance(text, state)
        if state.root_closed:
            break
        is_torn = not is_closed
    if torn_tag and not state.root_closed:
        _end_with(torn_tag, state)
    is_cut = not state.root_closed
    if is_cut:
        _end_early(state, is_torn)
    if state.repairs:
        tally.note("tags_repaired", "elements that were not closed properly", state.repairs)
    return Balanced(b"".join(state.pieces), is_cut, state.is_verbatim and not state.repairs)


def _without_torn_tag(document: bytes) -> tuple[bytes, bytes]:
    """The document up to a tag that was cut off at its end, and what there is of that tag."""
    at = document.rfind(b"<")
    if at < 0 or _TORN_TAG.match(document, at) is None:
        return document, b""
    return document[:at], document[at:]


def _end_with(torn_tag: bytes, state: _State) -> None:
    """Enough of an end tag to see that the element was complete; the root is not."""
    ended = torn_tag[2:].rstrip().lower()
    if torn_tag[1:2] == b"/" and state.stack[1:] and state.stack[-1].lower().startswith(ended):
        state.repairs += 1
        _close(state.stack[-1], state)


def _unclosed_and_surplus(document: bytes) -> tuple[frozenset[bytes], dict[bytes, int]]:
    """Lower-case names that begin more often than they end: what follows is not inside them.

    And how many ends of each name are too many: one inside another element ends nothing.
    """
    counted = Counter(_TAG_NAME.findall(document.lower()))
    unclosed, surplus = set(), {}
    for name, count in counted.items():
        if name[:1] == b"/":
            if count > counted[name[1:]]:
                surplus[name[1:]] = count - counted[name[1:]]
        elif count > counted[b"/" + name] and _local(name) not in _STRUCTURE:
            unclosed.add(name)
    return frozenset(unclosed), surplus


def _balance(markup: bytes, state: _State) -> None:
    """Text between tags is kept, tags are put in order."""
    at, pieces = 0, state.pieces
    for token in _TOKEN.finditer(markup):
        start, end = token.span()
        if start > at:
            pieces.append(markup[at:start])
        at = end
        last = token.lastindex
        slash, name, rest = token.group(last - 2, last - 1, last) if last else _NO_TAG
        if name is None:
            _keep_as_text(token[0], state, at == len(markup))
        elif slash:
            state.repairs += slash != b"/" or token[0][-1:] != b">"
            _close(name, state)
        else:
            state.repairs += token[0][-1:] != b">"
            _open(name, rest, state)
        if state.root_closed:
            return
    pieces.append(markup[at:])


def _keep_as_text(bracket: bytes, state: _State, is_last: bool) -> None:
    """A bracket that opens no tag; instructions (`<?`) are not needed."""
    if bracket[1:2] == b"?":
        return
    if not is_last:
        state.pieces.append(b"&lt;" + bracket[1:])
    state.repairs += 1


def _open(name: bytes, rest: bytes, state: _State) -> None:
    local, stack = _local(name), state.stack
    if local in ENTRIES and stack and _local(stack[-1]) not in _PARENTS:
        _close_up_to_parent(state)
    elif stack and _is_plain_field(name):
        while stack and (stack[-1].lower() in state.unclosed or _is_plain_field(stack[-1])):
            _pop(state)
            state.repairs += 1
    elif stack and state.unclosed and _is_other_field(name):
        while stack and _is_left_open(stack[-1].lower(), state):
            _pop(state)
            state.repairs += 1
    if len(stack) >= state.depth:
        state.repairs += 1
        return
    closed = rest.endswith(b"/") and not _goes_on(name, rest, state)
    attributes = rest[:-1] if closed else rest
    if attributes and _SOUND.fullmatch(attributes) is None:
        attributes = _sound_attributes(attributes)
        state.repairs += 1
    if closed or (local in _VOID and b":" not in name):
        state.is_verbatim = state.is_verbatim and closed
        state.pieces.append(b"<%b%b/>" % (name, attributes))
        state.root_closed = not stack
        return
    if local in ENTRIES:
        state.entry_starts.append(len(state.pieces))
    state.pieces.append(b"<%b%b>" % (name, attributes))
    stack.append(name)


def _is_left_open(lowered: bytes, state: _State) -> bool:
    return lowered in state.unclosed and _local(lowered) not in _GROUPS


def _goes_on(name: bytes, rest: bytes, state: _State) -> bool:
    """Whether the slash belongs to a value without quotes, of an element that is ended later."""
    lowered = name.lower()
    if not state.surplus.get(lowered) or _BARE_VALUE.search(rest) is None:
        return False
    state.surplus[lowered] -= 1
    return True


def _close_up_to_parent(state: _State) -> None:
    """An entry stands in a channel or feed: what was left open before it ends here."""
    if any(_local(held) in _PARENTS for held in state.stack):
        while _local(state.stack[-1]) not in _PARENTS:
            _pop(state)
            state.repairs += 1


def _close(name: bytes, state: _State) -> None:
    if not state.stack:
        return
    if state.stack[-1] != name:
        state.repairs += 1
        lowered = name.lower()
        if state.stack[-1].lower() != lowered and state.surplus.get(lowered):
            state.surplus[lowered] -= 1
            return
        if all(held.lower() != lowered for held in state.stack):
            return
        while state.stack[-1].lower() != lowered:
            _pop(state)
    _pop(state)
    state.root_closed = not state.stack


def _pop(state: _State) -> None:
    name = state.stack.pop()
    state.pieces.append(b"</%b>" % name)
    if _local(name) in ENTRIES and state.entry_starts:
        state.entry_starts.pop()


@lru_cache(maxsize=256)
def _local(name: bytes) -> bytes:
    return name.rpartition(b":")[2].lower()


@lru_cache(maxsize=256)
def _is_plain_field(name: bytes) -> bool:
    return name.lower() in _PLAIN_FIELDS


@lru_cache(maxsize=256)
def _is_other_field(name: bytes) -> bool:
    lowered = name.lower()
    return lowered in _OTHER_FIELDS or lowered.rpartition(b":")[0] in _PREFIXES


def _end_early(state: _State, is_torn: bool) -> None:
    """Cut off: an entry that did not end is left out, the elements around it are closed."""
    if state.entry_starts:
        del state.pieces[state.entry_starts[0] :]
        while state.stack and _local(state.stack[-1]) not in ENTRIES:
            state.stack.pop()
        if state.stack:
            state.stack.pop()
    elif is_torn and state.pieces:
        state.pieces.pop()
    while state.stack:
        state.pieces.append(b"</%b>" % state.stack.pop())


def _sound_attributes(given: bytes) -> bytes:
    """Quotes where they are missing, no attribute twice."""
    attributes: dict[bytes, bytes] = {}
    for match in _ATTRIBUTE.finditer(given):
        name, value = match.groups()
        value = value or b""
        if value[:1] in (b'"', b"'"):
            value = value[1:].removesuffix(value[:1])
        attributes.setdefault(name, value.replace(b'"', b"&quot;").replace(b"<", b"&lt;"))
    return b"".join(b' %b="%b"' % pair for pair in attributes.items())
