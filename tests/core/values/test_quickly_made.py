"""Values that are made quickly are the same as those made in the usual way."""

import pickle
from copy import deepcopy
from dataclasses import FrozenInstanceError, dataclass, field, fields, replace

import pytest

from headwater.core.values.quickly_made import quickly_made


@quickly_made
@dataclass(frozen=True, slots=True)
class Quick:
    name: str
    count: int = 7
    notes: list[str] = field(default_factory=list, compare=False)


def test_every_way_to_make_one_gives_the_same() -> None:
    for made in (Quick("a"), Quick(name="a"), Quick("a", 7), Quick("a", notes=["b"])):
        assert type(made) is Quick
        assert made == Quick("a", 7, [])
        assert hash(made) == hash(("a", 7))
    assert Quick("a") != Quick("b")
    assert repr(Quick("a", 3, ["b"])) == "Quick(name='a', count=3, notes=['b'])"
    assert Quick("a").notes is not Quick("a").notes


def test_copies_are_the_same_too() -> None:
    made = Quick("a", 3, ["b"])
    for copy in (replace(made), deepcopy(made), pickle.loads(pickle.dumps(made))):  # noqa: S301
        assert (type(copy), copy, copy.notes) == (Quick, made, ["b"])
    assert replace(made, count=4) == Quick("a", 4)


def test_it_takes_no_other_arguments() -> None:
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'name'"):
        Quick()  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="unexpected keyword argument 'size'"):
        Quick("a", size=1)  # type: ignore[call-arg]


def test_it_cannot_be_changed() -> None:
    made = Quick("a")
    for each in fields(made):
        with pytest.raises(FrozenInstanceError):
            setattr(made, each.name, "x")
    with pytest.raises(FrozenInstanceError):
        del made.name
    assert made.name == "a"
