"""The hardened XML parser for documents that are not feeds."""

from lxml import etree


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
        collect_ids=False,
    )
