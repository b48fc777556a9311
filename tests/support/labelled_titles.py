"""Titles with what they mean, as a file of ours has them: a title, then a line of its fields."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
ALWAYS = (
    "title groups season season_end episode episode_end absolute version kind batch resolution "
    "subtitles part year"
).split()
"""Fields that a title is asked for even where its line does not name them."""


@dataclass(frozen=True, slots=True)
class Labelled:
    title: str
    fields: dict[str, str]


def labelled(name: str) -> list[Labelled]:
    lines = [
        line
        for line in (HERE / name).read_text("utf-8").splitlines()
        if line and not line.startswith("#")
    ]
    return list(_pairs(lines))


def _pairs(lines: list[str]) -> Iterator[Labelled]:
    for title, said in zip(lines[::2], lines[1::2], strict=True):
        assert said.startswith("  "), title
        fields = dict(part.strip().split(": ", 1) for part in said.split(" | "))
        yield Labelled(title, fields)
