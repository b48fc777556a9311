"""Bugs that ordinary tests find: one plausible mistake in a promise of each of six areas."""

from dataclasses import dataclass
from pathlib import Path

from tests.support.planted_bugs import Bug, Edit

TESTS = Path(__file__).parents[1]


@dataclass(frozen=True, slots=True)
class SuiteBug(Bug):
    """`found_by` is the name of the test that must fail."""

    found_by: str


BUGS = (
    SuiteBug(
        "the gate does not look at the address that a name leads to",
        (
            Edit(
                "_on_socket",
                "__reason__ is not None",
                "__reason__ is not None and address[0] == self._host",
            ),
        ),
        "test_a_name_that_leads_elsewhere_the_second_time_is_dialled_where_it_was_checked",
    ),
    SuiteBug(
        "an entity that is long but refers to no other is no bomb",
        (
            Edit(
                "_entities",
                "_refers_to_entities(__text__) or len(__text__) > __most__",
                "_refers_to_entities(__text__)",
            ),
        ),
        "test_entity_bombs_are_refused",
    ),
    SuiteBug(
        "a revoked token still opens",
        (Edit("find_valid_token", "'__sql__ AND revoked_at IS NULL'", "'__sql__'"),),
        "test_a_token_lives_until_it_is_revoked",
    ),
    SuiteBug(
        "an idempotency key stands for any body",
        (
            Edit(
                "attempt_of",
                "_digest(__key__, __method__, __path__, body)",
                "_digest(__key__, __method__, __path__)",
            ),
        ),
        "test_another_body_path_or_query_under_the_same_key_is_422",
    ),
    SuiteBug(
        "a failing answer's Retry-After is forgotten",
        (
            Edit(
                "_after_failure", "max(__pause__, __floor__, __rest__)", "max(__pause__, __floor__)"
            ),
        ),
        "test_a_failure_that_says_how_long_is_not_asked_sooner",
    ),
    SuiteBug(
        "HTML of strangers is published as it came",
        (Edit("_html", "clean_html(__html__)", "__html__"),),
        "test_kinds_of_text_are_what_they_say",
    ),
)


def place_of_test(name: str) -> str:
    """As pytest wants it. A test may move to another file; its name stays."""
    (file,) = (
        path for path in TESTS.rglob("test_*.py") if f"def {name}(" in path.read_text("utf-8")
    )
    return f"{file}::{name}"
