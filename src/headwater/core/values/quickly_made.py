"""Frozen values that every visit makes, made quickly."""

from dataclasses import fields, make_dataclass
from typing import Any, TypeVar

T = TypeVar("T")

_become = vars(object)["__class__"].__set__


def quickly_made(kind: type[T]) -> type[T]:
    """A frozen, slotted dataclass with a quicker constructor; for one that has no heirs.

    The usual one sets each field through `object.__setattr__`, several times the cost of a plain
    slot. This one fills the value while it is of a plain class with the same slots, and then
    nobody can change it. Measured for nine fields, given in their order: 1.1 µs and 0.5 µs.
    """
    every = fields(kind)  # type: ignore[arg-type]
    like_it = [(each.name, each.type, each) for each in every]
    plain: Any = make_dataclass(kind.__name__, like_it, slots=True)
    fill = plain.__init__

    def __init__(self: Any, *given: Any, **named: Any) -> None:  # noqa: N807 -- it becomes one
        _become(self, plain)
        fill(self, *given, **named)
        self.__class__ = kind

    kind.__init__ = __init__  # type: ignore[method-assign]
    return kind
