"""Values that are made quickly are the same as those made in the usual way."""

from dataclasses import FrozenInstanceError, fields

import pytest

from headwater.parse import quickly_made
from headwater.parse.document import Category, Content, Enclosure, Link, Person, Text

PAIRS = [
    (quickly_made.text("a", "html"), Text("a", "html")),
    (quickly_made.content("a", "html", "u", "de"), Content("a", "html", "u", "de")),
    (quickly_made.person("n", "e@e.org", None), Person("n", "e@e.org", None)),
    (quickly_made.category("t", "s", "l"), Category("t", "s", "l")),
    (quickly_made.link("h"), Link("h")),
    (quickly_made.link("h", "self", "k", "t", 5, "de"), Link("h", "self", "k", "t", 5, "de")),
    (quickly_made.enclosure("u", "k", 1, 2, "t", "m"), Enclosure("u", "k", 1, 2, "t", "m")),
]  # fmt: skip


@pytest.mark.parametrize(("made", "usual"), PAIRS, ids=[type(usual).__name__ for _, usual in PAIRS])
def test_a_value_made_quickly_is_equal_and_cannot_be_changed(made: object, usual: object) -> None:
    assert made == usual
    assert (hash(made), repr(made), type(made)) == (hash(usual), repr(usual), type(usual))
    for field in fields(usual):  # type: ignore[arg-type]
        with pytest.raises(FrozenInstanceError):
            setattr(made, field.name, "x")
