"""How the rules read XML: strictly, and without a DTD."""

from lxml import etree


def only_utf8(body: bytes) -> list[str]:
    """What is wrong with these bytes before anything in them is read; nothing when all is well."""
    try:
        body.decode("utf-8", "strict")
        tree = tree_of(body)
    except (UnicodeDecodeError, etree.XMLSyntaxError) as problem:
        return [f"it_is_well_formed_utf_8: {problem}"]
    declared = body.startswith(b"<?xml version='1.0' encoding='utf-8'?>")
    if not declared:
        return ["it_says_that_it_is_utf_8: no declaration"]
    if tree.getroottree().docinfo.internalDTD is not None or b"<!DOCTYPE" in body:
        return ["it_has_no_dtd: one"]
    return []


def tree_of(body: bytes) -> etree._Element:
    return etree.fromstring(body, etree.XMLParser(resolve_entities=False, no_network=True))


def words_of(tree: etree._Element, path: str) -> str:
    return (tree.findtext(path) or "").strip()
