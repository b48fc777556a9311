"""Tags put in order: a document whose elements do not close properly, made well-formed."""

import re
from dataclasses import dataclass, field

from headwater.parse.limits import Tally

# Quoted values stop at the next "<", so that no quote can make the scan look far ahead twice.
_TOKEN = re.compile(
    r"<!\[CDATA\[.*?(?:(\]\]>)|\Z)"
    r"|<!--.*?(?:-->|\Z)"
    r"|<\?[^<]*?\?>"
    r"|<(/?)([A-Za-z_][\w:.-]*+)((?:[^<>\"']++|\"[^\"<]*+\"|'[^'<]*+')*+)>"
    r"|<(/?)([A-Za-z_][\w:.-]*+)([^<>]*+)>"
    r"|<",
    re.DOTALL,
)
_SOUND = re.compile(r"""(?:\s+[A-Za-z_][\w:.-]*\s*=\s*(?:"[^"<]*"|'[^'<]*'))*\s*""")
_ATTRIBUTE = re.compile(r"""([A-Za-z_][\w:.-]*)(?:\s*=\s*("[^"]*"|'[^']*'|[^\s"'<>]+))?""")

ENTRIES = frozenset(("item", "entry"))
_VOID = frozenset(("br", "hr", "img", "input", "meta", "wbr", "area", "embed"))
_PARENTS = frozenset(("channel", "rss", "rdf", "feed", "items"))
_PLAIN_FIELDS = frozenset(("title", "link", "guid", "pubdate", "category", "comments", "author"))


@dataclass(slots=True)
class Balanced:
    """The repaired text; `is_cut` when the document ended before its root did."""

    text: str
    is_cut: bool


@dataclass(slots=True)
class _State:
    depth: int
    pieces: list[str] = field(default_factory=list)
    stack: list[str] = field(default_factory=list)
    entry_starts: list[int] = field(default_factory=list)
    repairs: int = 0
    root_closed: bool = False


def balanced(text: str, depth: int, tally: Tally) -> Balanced:
    """One pass, a stack of open elements, linear in the length of the document."""
    state = _State(depth)
    at = 0
    for token in _TOKEN.finditer(text):
        state.pieces.append(text[at : token.start()])
        at = token.end()
        _place(token, state, at == len(text))
        if state.root_closed:
            break
    is_cut = not state.root_closed
    if is_cut:
        _end_early(state, text[at:])
    if state.repairs:
        tally.note("tags_repaired", "elements that were not closed properly", state.repairs)
    return Balanced("".join(state.pieces), is_cut)


def _place(token: re.Match[str], state: _State, is_last: bool) -> None:
    found = token[0]
    second = found[1:2]
    if second in ("!", "?"):
        if second == "!" and found.startswith("<![CDATA["):
            state.pieces.append(found if token[1] else found + "]]>")
        return
    slash, name, rest = token[2], token[3], token[4]
    if name is None:
        slash, name, rest = token[5], token[6], token[7]
    if name is None:
        if not is_last:
            state.pieces.append("&lt;")
        state.repairs += 1
    elif slash:
        _close(name, state)
    else:
        _open(name, rest, state)


def _open(name: str, rest: str, state: _State) -> None:
    local = name.rpartition(":")[2].lower()
    if local in ENTRIES and state.stack and _local(state.stack[-1]) not in _PARENTS:
        _close_up_to_parent(state)
    elif state.stack and name.lower() in _PLAIN_FIELDS and state.stack[-1].lower() in _PLAIN_FIELDS:
        _pop(state)
        state.repairs += 1
    if len(state.stack) >= state.depth:
        state.repairs += 1
        return
    closed = rest.endswith("/")
    attributes = rest[:-1] if closed else rest
    if _SOUND.fullmatch(attributes) is None:
        attributes = _sound_attributes(attributes)
        state.repairs += 1
    if closed or (local in _VOID and ":" not in name):
        state.pieces.append(f"<{name}{attributes}/>")
        state.root_closed = not state.stack
        return
    if local in ENTRIES:
        state.entry_starts.append(len(state.pieces))
    state.pieces.append(f"<{name}{attributes}>")
    state.stack.append(name)


def _close_up_to_parent(state: _State) -> None:
    """An entry stands in a channel or feed: what was left open before it ends here."""
    if any(_local(held) in _PARENTS for held in state.stack):
        while _local(state.stack[-1]) not in _PARENTS:
            _pop(state)
            state.repairs += 1


def _close(name: str, state: _State) -> None:
    if not state.stack:
        return
    if state.stack[-1] != name:
        state.repairs += 1
        lowered = name.lower()
        if all(held.lower() != lowered for held in state.stack):
            return
        while state.stack[-1].lower() != lowered:
            _pop(state)
    _pop(state)
    state.root_closed = not state.stack


def _pop(state: _State) -> None:
    name = state.stack.pop()
    state.pieces.append(f"</{name}>")
    if _local(name) in ENTRIES and state.entry_starts:
        state.entry_starts.pop()


def _local(name: str) -> str:
    return name.rpartition(":")[2].lower()


def _end_early(state: _State, rest: str) -> None:
    """Cut off: an entry that did not end is left out, the elements around it are closed."""
    if state.entry_starts:
        del state.pieces[state.entry_starts[0] :]
        while state.stack and _local(state.stack[-1]) not in ENTRIES:
            state.stack.pop()
        if state.stack:
            state.stack.pop()
    else:
        state.pieces.append(rest.partition("<")[0])
    while state.stack:
        state.pieces.append(f"</{state.stack.pop()}>")


def _sound_attributes(given: str) -> str:
    """Quotes where they are missing, no attribute twice."""
    attributes: dict[str, str] = {}
    for match in _ATTRIBUTE.finditer(given):
        name, value = match.groups()
        value = value if value is not None else name
        if value[0] in "\"'":
            value = value[1:-1]
        attributes.setdefault(name, value.replace('"', "&quot;"))
    return "".join(f' {name}="{value}"' for name, value in attributes.items())
