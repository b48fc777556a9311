"""What a route says when the database fails it: which wish failed, and what stands in."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

from headwater.core.errors import DatabaseError

_LISTS = {
    "/subscriptions": ("Failed to list subscriptions", "subscriptions"),
    "/conflicts": ("Failed to list conflicts", "conflicts"),
    "/fetcher-modules": ("Failed to list fetchers", "fetcher_modules"),
}
"""Lists that are there, empty, also when there is nothing to tell."""


def failure_facts_of_path(method: str, path: str) -> AbstractContextManager[None]:
    """The same for those who come before the route."""
    if method != "GET" or path not in _LISTS:
        return nullcontext()
    failed, name = _LISTS[path]
    return failure_facts(failed, **{name: []})


@contextmanager
def failure_facts(failed: str, **facts: Any) -> Iterator[None]:
    """`failed` opens the message of the refusal; the facts go along."""
    try:
        yield
    except DatabaseError as trouble:
        trouble.facts |= {"failed": failed, **facts}
        raise
