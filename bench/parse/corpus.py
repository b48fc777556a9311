"""The documents that are parsed: a folder of real ones, or generated ones."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

ADDRESS = "https://feeds.example/blog/feed.xml"
"""Where every document is said to have been found, so that relative links mean something."""

NO_FEEDS = frozenset({".md", ".tsv", ".txt", ".jsonl"})


@dataclass(frozen=True, slots=True)
class Sample:
    """One document, by the name it is reported under."""

    name: str
    body: bytes


class NoCorpus(Exception):
    """The folder holds no documents."""


def from_folder(folder: Path) -> list[Sample]:
    """Every file of a folder and the folders in it, but for notes and tables."""
    found = [
        Sample(str(path.relative_to(folder)), path.read_bytes())
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.suffix.lower() not in NO_FEEDS
    ]
    if not found:
        raise NoCorpus(f"There are no documents in {folder}.")
    return found


def size_of(samples: Iterable[Sample]) -> int:
    return sum(len(sample.body) for sample in samples)
