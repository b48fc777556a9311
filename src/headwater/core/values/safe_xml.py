"""Safe XML: the hardened parser for documents that are not feeds."""

from lxml import etree

LEAST_LIBXML2 = (2, 13)
"""In older versions hostile documents could get around the bounds on entities and deep trees."""


def hardened_parser(*, recover: bool, encoding: str | None = None) -> etree.XMLParser:
    """No external entities, no DTD, no network, no huge trees; made anew for each document."""
    return etree.XMLParser(
        encoding=encoding,
        recover=recover,
        resolve_entities=False,
        load_dtd=False,
        dtd_validation=False,
        attribute_defaults=False,
        no_network=True,
        huge_tree=False,
        remove_comments=True,
        remove_pis=True,
        # Not `collect_ids=False`: with it a DTD that the document names is read, whatever load_dtd
        # says, from any file that this process may open.
    )


def libxml2_trouble() -> str | None:
    """Say in words that this library is too old, as it is the first to meet hostile documents."""
    version = etree.LIBXML_VERSION
    if version >= LEAST_LIBXML2:
        return None
    least = ".".join(map(str, LEAST_LIBXML2))
    return (
        f"libxml2 {'.'.join(map(str, version))} is too old for hostile documents: {least} is needed"
    )
