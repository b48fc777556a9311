"""Links inside the repository lead somewhere."""

from pathlib import Path

import pytest

from tests.support.docs_pages import ROOT, anchors, links, pages


@pytest.mark.parametrize("path", pages(), ids=lambda path: str(path.relative_to(ROOT)))
def test_every_link_leads_somewhere(path: Path) -> None:
    broken = [link for link in links(path) if not leads_somewhere(link, path)]
    assert broken == []


def leads_somewhere(link: str, origin: Path) -> bool:
    if link.startswith(("https://", "http://", "mailto:")):
        return True
    name, _, anchor = link.partition("#")
    target = (origin.parent / name) if name else origin
    if not target.exists():
        return False
    return not anchor or anchor in anchors(target)


def test_every_page_of_docs_is_linked_from_another() -> None:
    linked = {
        (path.parent / link.partition("#")[0]).resolve() for path in pages() for link in links(path)
    }
    lost = [path for path in (ROOT / "docs").glob("*.md") if path.resolve() not in linked]
    assert lost == []
