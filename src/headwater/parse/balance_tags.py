"""Balance tags: make a document well-formed whose elements do not close properly."""

import re
from collections import Counter
from dataclasses import dataclass, field
from functools import lru_cache

from headwater.parse.limits import ProblemTally
from headwater.parse.repair_text import CDATA, MARKUP, sections

# An address in angle brackets, <a@b.org> or <https://b.org>, is no tag.
# Quoted values stop soon after a "<", so that no quote can make the scan look far ahead twice.
# A value that holds whole tags must end where a value ends: otherwise it has lost its quote.
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
_SOUND = re.compile(rb"""(?:\s++[A-Za-z_][\w:.-]*+\s*+=\s*+(?:"[^"<]*+"|'[^'<]*+'))*+\s*+""")
_ATTRIBUTE = re.compile(
    rb"""([A-Za-z_][\w:.-]*)(?:\s*=\s*("[^"]*(?:"|\Z)|'[^']*(?:'|\Z)|[^\s"'<>]+))?"""
)
_BARE_VALUE = re.compile(rb"=[^\s\"'<>=]+/\Z")
_TORN_TAG = re.compile(rb"<(?:/|[A-Za-z_])[^<>]*+\Z")
_TAG_NAME = re.compile(rb"<(/?[A-Za-z_][\w:.-]*+)[^<>]*+(?!(?<=/)>)")

_NO_TAG = (b"", None, b"")
_BRACKET = ord(">")
ENTRIES = frozenset((b"item", b"entry"))
_VOID = frozenset((b"br", b"hr", b"img", b"input", b"meta", b"wbr", b"area", b"embed"))
_PARENTS = frozenset((b"channel", b"rss", b"rdf", b"feed", b"items"))
_STRUCTURE = ENTRIES | _PARENTS
_PLAIN_FIELDS = frozenset(
    (b"title", b"link", b"guid", b"pubdate", b"category", b"comments", b"author")
)
# These are no markup of text: one that begins in an unclosed field stands after that field.
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

    `is_verbatim` when all its tags are written as in the document: only ends were added.
    """

    document: bytes
    is_cut: bool
    is_verbatim: bool


@dataclass(frozen=True, slots=True)
class _Element:
    """The facts about an element that follow from its name."""

    name: bytes
    lowered: bytes
    is_entry: bool
    is_parent: bool
    is_group: bool
    is_void: bool
    is_plain_field: bool
    is_other_field: bool


@dataclass(slots=True)
class _State:
    depth: int
    unclosed: frozenset[bytes]
    surplus: dict[bytes, int]
    pieces: list[bytes] = field(default_factory=list)
    stack: list[_Element] = field(default_factory=list)
    entry_starts: list[int] = field(default_factory=list)
    repairs: int = 0
    is_verbatim: bool = True
    root_closed: bool = False
    # The current markup, how much of it is in the pieces, and where the next tag begins.
    markup: bytes = b""
    done: int = 0
    at: int = 0


def balance_tags(document: bytes, depth: int, tally: ProblemTally) -> Balanced:
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
    """The document up to a tag that was cut off at its end, and the rest of that tag."""
    at = document.rfind(b"<")
    if at < 0 or _TORN_TAG.match(document, at) is None:
        return document, b""
    return document[:at], document[at:]


def _end_with(torn_tag: bytes, state: _State) -> None:
    """Close the element when enough of its end tag is left to see that it was complete. The root
    stays open."""
    ended = torn_tag[2:].rstrip().lower()
    if torn_tag[1:2] == b"/" and state.stack[1:] and state.stack[-1].lowered.startswith(ended):
        state.repairs += 1
        _close_tag(state.stack[-1].name, state, False)


def _unclosed_and_surplus(document: bytes) -> tuple[frozenset[bytes], dict[bytes, int]]:
    """Lower-case names that begin more often than they end: later elements are not inside them.

    And how many ends of each name are too many: such an end inside another element ends nothing.
    """
    counts = Counter(_TAG_NAME.findall(document.lower()))
    unclosed, surplus = set(), {}
    for name, count in counts.items():
        if name[:1] == b"/":
            too_many = count - counts.get(name[1:], 0)
            if too_many > 0:
                surplus[name[1:]] = too_many
        elif count > counts.get(b"/" + name, 0) and name.rpartition(b":")[2] not in _STRUCTURE:
            unclosed.add(name)
    return frozenset(unclosed), surplus


def _balance(markup: bytes, state: _State) -> None:
    """Keep the text between tags and put the tags in order. Markup without faults is kept whole."""
    state.markup, state.done, end = markup, 0, 0
    for token in _TOKEN.finditer(markup):
        state.at, end = token.span()
        last = token.lastindex
        slash, name, rest = token.group(last - 2, last - 1, last) if last else _NO_TAG
        if name is None:
            stays = False
            _keep_as_text(token[0], state, end == len(markup))
        elif slash:
            state.repairs += slash != b"/" or markup[end - 1] != _BRACKET
            stays = _close_tag(name, state, end - state.at == len(name) + 3)
        else:
            is_whole = markup[end - 1] == _BRACKET
            state.repairs += not is_whole
            stays = _open_tag(_element(name), rest, state, is_whole)
        if not stays:
            _keep_up_to(state.at, state)
            state.done = end
        if state.root_closed:
            _keep_up_to(end, state)
            return
    state.at = end
    _keep_up_to(end, state)
    state.pieces.append(markup[end:])


def _keep_up_to(at: int, state: _State) -> None:
    if at > state.done:
        state.pieces.append(state.markup[state.done : at])
        state.done = at


def _instead(piece: bytes, state: _State) -> None:
    """Add a piece in the place of a tag, or before it."""
    _keep_up_to(state.at, state)
    state.pieces.append(piece)


def _keep_as_text(bracket: bytes, state: _State, is_last: bool) -> None:
    """Escape a bracket that opens no tag. Processing instructions (`<?`) are dropped."""
    if bracket[1:2] == b"?":
        return
    if not is_last:
        _instead(b"&lt;" + bracket[1:], state)
    state.repairs += 1


def _open_tag(element: _Element, rest: bytes, state: _State, stays: bool) -> bool:
    """Open an element. Returns whether the tag stays as it is written."""
    stack = state.stack
    if stack:
        _close_left_open(element, state)
    if len(stack) >= state.depth:
        state.repairs += 1
        return False
    closed = rest.endswith(b"/") and not _slash_is_of_value(element.lowered, rest, state)
    attributes = rest[:-1] if closed else rest
    if attributes and _SOUND.fullmatch(attributes) is None:
        attributes = _sound_attributes(attributes)
        state.repairs += 1
        stays = False
    if closed or element.is_void:
        state.is_verbatim = state.is_verbatim and closed
        state.root_closed = not stack
        stays = stays and closed
        closed = True
    else:
        if element.is_entry:
            _keep_up_to(state.at, state)
            state.entry_starts.append(len(state.pieces))
        stack.append(element)
    if not stays:
        _instead((b"<%b%b/>" if closed else b"<%b%b>") % (element.name, attributes), state)
    return stays


def _close_left_open(element: _Element, state: _State) -> None:
    """Close the open elements that this element cannot stand in."""
    stack, unclosed = state.stack, state.unclosed
    if element.is_entry and not stack[-1].is_parent:
        _close_up_to_parent(state)
    elif element.is_plain_field:
        while stack and (stack[-1].is_plain_field or stack[-1].lowered in unclosed):
            _pop(state)
            state.repairs += 1
    elif unclosed and element.is_other_field:
        while stack and not stack[-1].is_group and stack[-1].lowered in unclosed:
            _pop(state)
            state.repairs += 1


def _slash_is_of_value(lowered: bytes, rest: bytes, state: _State) -> bool:
    """Whether the slash belongs to a value without quotes, of an element that is ended later."""
    if not state.surplus.get(lowered) or _BARE_VALUE.search(rest) is None:
        return False
    state.surplus[lowered] -= 1
    return True


def _close_up_to_parent(state: _State) -> None:
    """An entry stands in a channel or feed: elements left open before it end here."""
    if any(outer.is_parent for outer in state.stack):
        while not state.stack[-1].is_parent:
            _pop(state)
            state.repairs += 1


def _close_tag(name: bytes, state: _State, stays: bool) -> bool:
    """Close an element. Returns whether the tag stays as it is written, which is so when it ends
    the innermost element and nothing else."""
    stack = state.stack
    if not stack:
        return False
    if stack[-1].name != name:
        state.repairs += 1
        stays = False
        lowered = name.lower()
        if stack[-1].lowered != lowered and state.surplus.get(lowered):
            state.surplus[lowered] -= 1
            return False
        if all(outer.lowered != lowered for outer in stack):
            return False
        while stack[-1].lowered != lowered:
            _pop(state)
    _pop(state, is_written=stays)
    state.root_closed = not stack
    return stays


def _pop(state: _State, is_written: bool = False) -> None:
    """End the innermost element, with a tag of our own unless the document has one."""
    element = state.stack.pop()
    if not is_written:
        _instead(b"</%b>" % element.name, state)
    if element.is_entry and state.entry_starts:
        state.entry_starts.pop()


@lru_cache(maxsize=256)
def _element(name: bytes) -> _Element:
    lowered = name.lower()
    prefix, colon, local = lowered.rpartition(b":")
    return _Element(
        name,
        lowered,
        is_entry=local in ENTRIES,
        is_parent=local in _PARENTS,
        is_group=local in _GROUPS,
        is_void=local in _VOID and not colon,
        is_plain_field=lowered in _PLAIN_FIELDS,
        is_other_field=lowered in _OTHER_FIELDS or prefix in _PREFIXES,
    )


def _end_early(state: _State, is_torn: bool) -> None:
    """End a document that was cut off: leave out an entry that did not end, and close the elements
    around it."""
    if state.entry_starts:
        del state.pieces[state.entry_starts[0] :]
        while state.stack and not state.stack[-1].is_entry:
            state.stack.pop()
        if state.stack:
            state.stack.pop()
    elif is_torn and state.pieces:
        state.pieces.pop()
    while state.stack:
        state.pieces.append(b"</%b>" % state.stack.pop().name)


def _sound_attributes(markup: bytes) -> bytes:
    """Add missing quotes, and keep each attribute once."""
    attributes: dict[bytes, bytes] = {}
    for match in _ATTRIBUTE.finditer(markup):
        name, value = match.groups()
        value = value or b""
        if value[:1] in (b'"', b"'"):
            value = value[1:].removesuffix(value[:1])
        attributes.setdefault(name, value.replace(b'"', b"&quot;").replace(b"<", b"&lt;"))
    return b"".join(b' %b="%b"' % pair for pair in attributes.items())
