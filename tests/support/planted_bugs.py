"""Plant a bug into a copy of the package: find the code by what it is, wherever it stands.

Code is compared as Python reads it, so that layout and comments do not matter. In the code to be
found, a name such as `__any__` is a variable. It stands for any expression; alone on its line, for
any number of statements; inside a string, for any text. The new code may use what it stood for.
"""

import ast
import re
import shutil
from collections.abc import Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import headwater

SOURCE = Path(headwater.__file__).parent
_VARIABLE = re.compile(r"__[a-z_]+?__")

Bound = Mapping[str, Any]
"""Variables, and what they stand for: an expression, statements, or text."""


class NotPlantable(Exception):
    """The source has changed: the bug must be planted anew."""


@dataclass(frozen=True, slots=True)
class Edit:
    """Replace the code `old` in the function, class or constant `where`.

    `where` is the end of its dotted name, the shorter the better: it is looked up in the whole
    package, and `old` must be there exactly once. `uses` are names that `new` needs; they are
    imported from where they are defined.
    """

    where: str
    old: str
    new: str
    uses: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Bug:
    """A mistake that must be found."""

    name: str
    edits: tuple[Edit, ...]


def plant(bug: Bug, folder: Path) -> Path:
    """A folder to import the package from, with the bug in it."""
    copy = folder / "source" / "headwater"
    shutil.copytree(SOURCE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    for path, text in planted_modules(bug, package_modules()).items():
        (copy / path).write_text(text, "utf-8")
    return copy.parent


@cache
def package_modules() -> Mapping[str, str]:
    """The text of every module, by its path in the package."""
    return {str(path.relative_to(SOURCE)): path.read_text("utf-8") for path in SOURCE.rglob("*.py")}


def planted_modules(bug: Bug, modules: Mapping[str, str]) -> dict[str, str]:
    """The new text of the modules that the bug changes."""
    changed: dict[str, str] = {}
    for edit in bug.edits:
        try:
            changed |= _edited(edit, {**modules, **changed})
        except NotPlantable as reason:
            raise NotPlantable(f"{reason} Plant the bug {bug.name!r} anew.") from None
    return changed


def _edited(edit: Edit, modules: Mapping[str, str]) -> dict[str, str]:
    imports = [f"from {_home_of(name, modules)} import {name}\n" for name in edit.uses]
    planting = _Planting(edit.old, "".join(imports) + edit.new)
    changed, is_defined, name = dict[str, str](), False, edit.where.rpartition(".")[2]
    for path, text in modules.items():
        if not any(start + name in text for start in ("def ", "class ", "\n")):
            continue
        tree, before = ast.parse(text), planting.count
        for definition in _definitions(tree, edit.where, _dotted(path)):
            is_defined = True
            planting.visit(definition)
        if planting.count > before:
            changed[path] = ast.unparse(tree)
    if not is_defined:
        raise NotPlantable(f"Nothing in the package is named {edit.where}.")
    if planting.count != 1:
        times = f"{planting.count} times, not once"
        raise NotPlantable(f"In {edit.where}, this stands {times}:\n{edit.old}\n")
    return changed


def _home_of(name: str, modules: Mapping[str, str]) -> str:
    defined = re.compile(rf"^(?:(?:async )?def|class) {name}\b", re.MULTILINE)
    homes = [path for path, text in modules.items() if defined.search(text)]
    if len(homes) != 1:
        raise NotPlantable(f"{name} is defined in {len(homes)} modules, not in one.")
    return _dotted(homes[0])


def _dotted(path: str) -> str:
    return "headwater." + path.removesuffix(".py").replace("/", ".")


def _definitions(node: ast.AST, where: str, path: str) -> Iterator[ast.AST]:
    for child in ast.iter_child_nodes(node):
        inside = path
        match child:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                inside = f"{path}.{child.name}"
            case ast.Assign(targets=[ast.Name(id=name)]) if isinstance(node, ast.Module):
                inside = f"{path}.{name}"
        if inside != path and inside.endswith(f".{where}"):
            yield child
        else:
            yield from _definitions(child, where, inside)


class _Planting(ast.NodeTransformer):
    """Replaces code, and counts how often."""

    def __init__(self, old: str, new: str) -> None:
        self._old, self._new = ast.parse(old).body, ast.parse(new).body
        self.count = 0

    def visit(self, node: ast.AST) -> Any:
        self.generic_visit(node)
        match self._old, self._new:
            case [ast.Expr(value=old)], [ast.Expr(value=new)]:
                bound = _match(old, node, {})
                return node if bound is None else self._filled(new, bound)
        for _, nodes in ast.iter_fields(node):
            for start in reversed(range(len(nodes) if isinstance(nodes, list) else 0)):
                run = slice(start, start + len(self._old))
                if (bound := _match(self._old, nodes[run], {})) is not None:
                    nodes[run] = self._filled(ast.Module(self._new, []), bound).body
        return node

    def _filled(self, new: ast.AST, bound: Bound) -> Any:
        self.count += 1
        return _Filling(bound).visit(deepcopy(new))


def _match(pattern: Any, node: Any, bound: Bound) -> Bound | None:
    """What the variables of the pattern stand for. None where the code is another."""
    match pattern, node:
        case [ast.Expr(value=ast.Name(id=name)), *patterns], [*nodes] if _VARIABLE.fullmatch(name):
            ways = (
                _match(patterns, nodes[end:], {**bound, name: nodes[:end]})
                for end in range(len(nodes) + 1)
            )
            return next((way for way in ways if way is not None), None)
        case [first, *patterns], [nearest, *nodes]:
            begun = _match(first, nearest, bound)
            return None if begun is None else _match(patterns, nodes, begun)
        case ast.Name(id=name), ast.expr() if _VARIABLE.fullmatch(name):
            return _match(bound[name], node, bound) if name in bound else {**bound, name: node}
        case ast.Constant(value=str(words)), ast.Constant(value=str(text)):
            expression = _VARIABLE.sub(lambda name: f"(?P<{name[0]}>.*)", re.escape(words))
            texts = re.fullmatch(expression, text, re.DOTALL)
            return None if texts is None else {**bound, **texts.groupdict()}
        case ast.AST(), ast.AST() if type(pattern) is type(node):
            result: Bound | None = bound
            for field in pattern._fields:
                if result is not None and field not in ("ctx", "kind", "type_comment"):
                    result = _match(getattr(pattern, field), getattr(node, field), result)
            return result
    return bound if (type(pattern), pattern) == (type(node), node) else None


class _Filling(ast.NodeTransformer):
    """Puts what variables stand for into their places."""

    def __init__(self, bound: Bound) -> None:
        self._bound = bound

    def visit_Expr(self, node: ast.Expr) -> Any:
        self.generic_visit(node)
        return node.value if isinstance(node.value, list) else node

    def visit_Name(self, node: ast.Name) -> Any:
        return deepcopy(self._bound.get(node.id, node))

    def visit_Constant(self, node: ast.Constant) -> ast.Constant:
        if isinstance(node.value, str):
            node.value = _VARIABLE.sub(lambda name: self._bound.get(name[0], name[0]), node.value)
        return node
