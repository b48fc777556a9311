"""The documentation as text: pages, tables and links."""

import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]

LINK = re.compile(r"(?<!!)\[[^\]\n]*\]\(([^)\s]+)\)")
FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)


def page(name: str) -> str:
    return (ROOT / name).read_text("utf-8")


def pages() -> list[Path]:
    return sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])


def rows(name: str) -> dict[str, list[str]]:
    """Every table row whose first cell is `code`: that code → the other cells."""
    found = {}
    for line in page(name).splitlines():
        cells = [cell.strip() for cell in line.replace("\\|", "¦").strip("|").split("|")]
        if line.startswith("|") and re.fullmatch(r"`[^`]+`", cells[0]):
            found[cells[0].strip("`")] = [cell.replace("¦", "|") for cell in cells[1:]]
    return found


def links(path: Path) -> Iterator[str]:
    yield from LINK.findall(FENCE.sub("", path.read_text("utf-8")))


def anchors(path: Path) -> set[str]:
    """What `#…` may point at: headings, as source hosts spell them."""
    text = FENCE.sub("", path.read_text("utf-8"))
    heads = re.findall(r"^#+ +(.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.lower()).strip().replace(" ", "-") for head in heads}
