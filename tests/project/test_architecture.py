"""ARCHITECTURE.md leads nobody astray: every file and function that it names exists."""

import ast
import re

import pytest

from tests.support.source_tree import ROOT, SRC

PAGE = (ROOT / "ARCHITECTURE.md").read_text("utf-8")
PLACES = sorted(set(re.findall(r"`([\w/]+\.py)::([\w.]+)`", PAGE)))
WALKS = ("A visit", "A subscription", "An event to a webhook", "An episode into the library")


def definitions(tree: ast.AST, prefix: str = "") -> set[str]:
    """Functions, classes and methods by their qualified names."""
    names = set[str]()
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(prefix + node.name)
        if isinstance(node, ast.ClassDef):
            names |= definitions(node, f"{prefix}{node.name}.")
    return names


def test_every_place_of_the_walks_exists() -> None:
    assert len(PLACES) > 50
    missing = []
    for file, name in PLACES:
        path = SRC / file
        if not path.is_file() or name not in definitions(ast.parse(path.read_text("utf-8"))):
            missing.append(f"{file}::{name}")
    assert missing == []


@pytest.mark.parametrize("walk", WALKS)
def test_a_walk_goes_through_several_files(walk: str) -> None:
    _, _, rest = PAGE.partition(f"### {walk}\n")
    section = re.split(r"\n##+ ", rest)[0]
    assert len(set(re.findall(r"`([\w/]+\.py)::", section))) >= 5
