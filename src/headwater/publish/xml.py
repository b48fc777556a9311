"""Build XML elements whose texts hold only what XML can carry, and render them without a DTD."""

from lxml import etree

from headwater.publish.safe_text import xml_safe_text

ATOM = "http://www.w3.org/2005/Atom"
CONTENT = "http://purl.org/rss/1.0/modules/content/"
DUBLIN_CORE = "http://purl.org/dc/elements/1.1/"


def root(name: str, namespaces: dict[str | None, str], **attributes: str) -> etree._Element:
    return etree.Element(name, _xml_safe(attributes), nsmap=namespaces)


def child(
    parent: etree._Element, name: str, text: str | None = None, **attributes: str | None
) -> etree._Element:
    """Add a child element. An attribute that is None is left out."""
    element = etree.SubElement(parent, name, _xml_safe(attributes))
    if text is not None:
        element.text = xml_safe_text(text)
    return element


def render_xml(tree: etree._Element) -> bytes:
    """UTF-8, with a declaration and nothing else before the root."""
    return bytes(etree.tostring(tree, encoding="utf-8", xml_declaration=True))


def _xml_safe(attributes: dict[str, str | None] | dict[str, str]) -> dict[str, str]:
    return {name: xml_safe_text(value) for name, value in attributes.items() if value is not None}
