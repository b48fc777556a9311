"""Namespaces that publishers made up, put right before anything is read."""

import re

from lxml import etree

from headwater.parse.names import NAMESPACES, USUAL_URIS, is_known_namespace, plain_name

_PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*").fullmatch
_MEANT_BY_PREFIX = (
    "dc dcterms content itunes media sy podcast googleplay xhtml cc creativecommons admin"
    " slash thr wfw georss".split()
)
_USUAL: dict[str, str] = {}
for _uri, _prefix in NAMESPACES.items():
    if _prefix in _MEANT_BY_PREFIX:
        _USUAL.setdefault(_prefix, f"{{{USUAL_URIS.get(_prefix, _uri)}}}")


def with_usual_namespaces(root: etree._Element) -> bool:
    """Whether a channel or an item lost a namespace that nobody knows.

    A usual prefix that the root declares for an address that nobody knows is meant as usual.
    """
    meant: dict[str, str] = {}
    for prefix, uri in root.nsmap.items():
        usual = _USUAL.get(prefix.lower()) if prefix else None
        if usual is not None and not is_known_namespace(uri):
            meant[f"{{{uri}}}"] = usual
    first = root[0].tag if len(root) else None
    is_unknown = isinstance(first, str) and _is_unknown_structure(first)
    if is_unknown:
        meant[str(first).rpartition("}")[0] + "}"] = ""
    if meant:
        _rename(root, meant)
    return is_unknown


def without_unknown_namespace(root: etree._Element) -> bool:
    """Whether a root that is a feed's by its name lost a namespace that nobody knows.

    Publishers make them up. All of its elements lose it, as if it had not been declared.
    """
    uri, brace, local = str(root.tag).rpartition("}")
    name, own = local.lower(), uri + brace
    if not own or name not in ("rss", "feed"):
        return False
    if name == "feed" and all(child.tag != own + "entry" for child in root):
        return False
    _rename(root, {own: ""})
    return True


def _is_unknown_structure(tag: str) -> bool:
    return tag.endswith(("}channel", "}item")) and plain_name(tag) == "?"


def _rename(root: etree._Element, meant: dict[str, str]) -> None:
    for element in root.iter():
        uri, brace, local = str(element.tag).rpartition("}")
        new = meant.get(uri + brace) if brace else None
        # A repaired document may hold names that XML forbids.
        if new is not None and _PLAIN_NAME(local) is not None:
            element.tag = new + local
