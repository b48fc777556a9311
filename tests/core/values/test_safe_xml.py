"""The parser for documents of strangers: nothing is loaded, nothing is made out of a DTD."""

from pathlib import Path

import pytest
from lxml import etree

from headwater.core.values.safe_xml import hardened_parser

STRICT_OR_NOT = pytest.mark.parametrize("recover", [False, True])


def written(document: str, recover: bool) -> str:
    """The document as it was understood, without its DTD."""
    root = etree.fromstring(document.encode(), hardened_parser(recover=recover))
    understood: str = etree.tostring(root, encoding="unicode")
    return understood


@STRICT_OR_NOT
def test_an_entity_stays_a_name(recover: bool) -> None:
    assert written('<!DOCTYPE a [<!ENTITY e "words">]><a>&e;</a>', recover) == "<a>&e;</a>"


@STRICT_OR_NOT
def test_a_file_of_ours_is_not_read_as_an_entity(tmp_path: Path, recover: bool) -> None:
    (tmp_path / "passwords").write_text("sesame")
    document = f'<!DOCTYPE a [<!ENTITY e SYSTEM "{(tmp_path / "passwords").as_uri()}">]><a>&e;</a>'
    assert written(document, recover) == "<a>&e;</a>"


@STRICT_OR_NOT
def test_a_dtd_elsewhere_is_not_read(tmp_path: Path, recover: bool) -> None:
    dtd = tmp_path / "a.dtd"
    dtd.write_text('<!ELEMENT a ANY><!ATTLIST a b CDATA "from the DTD"><!ENTITY e "words">')
    document = f'<!DOCTYPE a SYSTEM "{dtd.as_uri()}"><a/>'
    root = etree.fromstring(document.encode(), hardened_parser(recover=recover))
    assert dict(root.attrib) == {}
    assert root.getroottree().docinfo.externalDTD is None


@STRICT_OR_NOT
def test_a_document_need_not_be_as_its_dtd_says(recover: bool) -> None:
    assert written("<!DOCTYPE a [<!ELEMENT a EMPTY>]><a>words</a>", recover) == "<a>words</a>"


def test_a_tree_of_three_hundred_levels_is_refused() -> None:
    document = "<a>" * 300 + "</a>" * 300
    with pytest.raises(etree.XMLSyntaxError):
        written(document, recover=False)


@STRICT_OR_NOT
def test_comments_and_instructions_are_left_out(recover: bool) -> None:
    assert written("<a>b<!--c--><?d e?>f</a>", recover) == "<a>bf</a>"
