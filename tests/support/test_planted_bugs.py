"""A planted bug stands where its code stands, once, or it is refused with a reason."""

import pytest

from tests.support.planted_bugs import Bug, Edit, NotPlantable, planted_modules

SHELF = """
class Shelf:
    def put(self, book, at):
        # A comment.
        if book is None or (at < 0):
            return None
        return self.books.insert(at, book)

async def stock(books, shelf):
    async with shelf.open() as tx:
        first(tx)
        await save(tx, books)
        last(tx)
"""
MODULES = {
    "shop/shelf.py": SHELF,
    "shop/till.py": "class Till: pass\ndef put(coin): return f'INSERT {coin} INTO till'\n",
    "shop/words.py": "\nGREETING = 'Good morning'\ndef clerk(): GREETING = 'No'\n",
}


def planted(*edits: Edit) -> dict[str, str]:
    return planted_modules(Bug("a mistake", edits), MODULES)


def test_an_expression_is_found_by_what_it_is_in_whatever_is_named_so() -> None:
    changed = planted(Edit("put", "__book__ is None or __at__ < 0", "__book__ is None"))
    assert list(changed) == ["shop/shelf.py"]
    assert "        if book is None:\n            return None\n" in changed["shop/shelf.py"]


def test_statements_move_with_all_that_a_variable_stands_for() -> None:
    save = "await save(tx, __books__)"
    changed = planted(
        Edit(
            "shelf.stock",
            f"async with __opened__ as tx:\n    __before__\n    {save}\n    __after__",
            f"{save}\nasync with __opened__ as tx:\n    __before__\n    __after__",
        )
    )
    assert changed["shop/shelf.py"].endswith(
        "async def stock(books, shelf):\n"
        "    await save(tx, books)\n"
        "    async with shelf.open() as tx:\n"
        "        first(tx)\n"
        "        last(tx)"
    )


def test_a_variable_stands_for_the_same_wherever_it_is_written() -> None:
    same = Edit("stock", "__call__(tx)\nawait __save__(tx, __save__)", "pass")
    with pytest.raises(NotPlantable, match="stands 0 times"):
        planted(same)


def test_a_text_is_changed_in_a_constant_and_between_the_values_of_a_string() -> None:
    changed = planted(
        Edit("GREETING", "'Good__more__'", "'Bad__more__'"),
        Edit("put", "' INTO __table__'", "' AMONG __table__'"),
    )
    assert changed["shop/words.py"].startswith("GREETING = 'Bad morning'\n")
    assert "return f'INSERT {coin} AMONG till'" in changed["shop/till.py"]


def test_a_second_edit_sees_the_first_one() -> None:
    changed = planted(
        Edit("Shelf.put", "__at__ < 0", "__at__ < 1"), Edit("Shelf.put", "__at__ < 1", "False")
    )
    assert "if book is None or False:" in changed["shop/shelf.py"]


def test_what_is_used_is_imported_from_where_it_is_defined() -> None:
    changed = planted(Edit("stock", "last(tx)\n", "Till()\n", uses=("Till",)))
    assert (
        "        from headwater.shop.till import Till\n        Till()" in changed["shop/shelf.py"]
    )


@pytest.mark.parametrize(
    ("edit", "reason"),
    [
        (Edit("Shelf.take", "book", "None"), "Nothing in the package is named Shelf.take."),
        (
            Edit("Shelf.put", "shelf", "None"),
            "In Shelf.put, this stands 0 times, not once:\nshelf\n",
        ),
        (Edit("put", "book", "None"), "In put, this stands 2 times, not once:\nbook\n"),
        (Edit("put", "'DELETE'", "''"), "In put, this stands 0 times, not once:\n'DELETE'\n"),
        (Edit("stock", "pass", "", uses=("Desk",)), "Desk is defined in 0 modules, not in one."),
    ],
)
def test_a_bug_that_has_no_place_any_more_says_so(edit: Edit, reason: str) -> None:
    with pytest.raises(NotPlantable) as refusal:
        planted(edit)
    assert str(refusal.value) == f"{reason} Plant the bug 'a mistake' anew."
