"""Why each field of a release is what it is."""

from typing import NamedTuple

Note = tuple[str, object, str, str]
"""A field, its value, the piece of the title and the rule, as they are written down in haste."""


class Finding(NamedTuple):
    """`text` is the piece of the title, `rule` the name of what was seen in it."""

    field: str
    value: str
    text: str
    rule: str


def findings(notes: tuple[Note, ...]) -> tuple[Finding, ...]:
    """Notes in words; of a field that was said in several steps, each step."""
    return tuple(
        Finding(field, _shown(value), text.strip(), rule) for field, value, text, rule in notes
    )


def _shown(value: object) -> str:
    if isinstance(value, tuple):
        return " + ".join(str(one) for one in value)
    if isinstance(value, frozenset):
        return " + ".join(sorted(str(one) for one in value))
    if isinstance(value, dict):
        return " · ".join(f"{key}: {one}" for key, one in value.items())
    return "yes" if value is True else str(value)
