"""Attributes that are not named as they should be."""

from lxml import etree

from headwater.parse.names import XML

_FEW = 16


def has_more_attributes_now(element: etree._Element) -> bool:
    """Whether attributes in capitals or with a prefix were given their usual names too.

    Asked only where an attribute that is needed is missing.
    """
    found = False
    for name in map(str, element.keys()[:_FEW]):
        usual = name.rpartition("}")[2].rpartition(":")[2].lower()
        if usual == name or name.startswith(XML) or not (usual.isascii() and usual.isalpha()):
            continue
        if element.get(usual) is None:
            element.set(usual, element.get(name) or "")
            found = True
    return found
