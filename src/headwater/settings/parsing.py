"""Parse and check settings: names, lists, contacts, secrets in files."""

import json
from collections.abc import Iterable
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from pydantic import ValidationInfo

from headwater.core.errors import BadSettings

LONGEST_TOKEN = 512
"""No longer token is read from a request."""

_PREFIX = "HEADWATER_"
_FOR_OTHERS = frozenset(_PREFIX + name for name in ("CONFIG", "GRPC", "TOKEN", "URL"))
_FAMILIES_OF_OTHERS = tuple(_PREFIX + name for name in ("TEST_", "SERVICE_", "PORT_"))
"""Names of the tests, and those that Kubernetes sets for a service called headwater."""

LARGEST = 2**50
"""The bound of numbers without a unit of time. More fits no database and not libcurl."""
_YEARS = 100
_A_YEAR = {
    "days": 366,
    "hours": 366 * 24,
    "minutes": 366 * 24 * 60,
    "sec": 366 * 86_400,
    "seconds": 366 * 86_400,
    "ms": 366 * 86_400_000,
}
"""A year in the unit that the name of a setting ends in."""


def unknown_names(environment: Iterable[str], settings: Iterable[str]) -> list[str]:
    """List names that we do not read, each with a similar setting: they are typing mistakes."""
    setting_names = {_PREFIX + name.upper() for name in settings}
    ours = (name for name in environment if name.startswith(_PREFIX))
    unknown = sorted(
        name
        for name in ours
        if name not in setting_names | _FOR_OTHERS and not name.startswith(_FAMILIES_OF_OTHERS)
    )
    return [name + _nearest_name(name, setting_names) for name in unknown]


def _nearest_name(name: str, setting_names: Iterable[str]) -> str:
    near = get_close_matches(name, setting_names, n=1, cutoff=0.8)
    return f" ({near[0]}?)" if near else ""


def parse_list(text: str) -> Any:
    """Parse `["a", "b"]` or `a, b` into a list."""
    if text.lstrip().startswith("["):
        try:
            return json.loads(text)
        except ValueError as trouble:
            raise ValueError(f"looks like JSON but is not: {trouble}") from trouble
    return [part.strip() for part in text.split(",") if part.strip()]


def within_reason(value: Any, field: ValidationInfo) -> Any:
    """Refuse a number that stands for "for ever". It would give a moment that does not exist or
    cannot be stored, and would stop housekeeping or visits when it is first used."""
    if not isinstance(value, int | float):
        return value
    year = _A_YEAR.get((field.field_name or "").rpartition("_")[2])
    most = LARGEST if year is None else _YEARS * year
    if not value <= most:  # NaN is refused too
        raise ValueError(f"must be at most {most}" + (f" ({_YEARS} years)" if year else ""))
    return value


def is_contact(text: str) -> bool:
    """Check a contact for the User-Agent: a bracket or line break would end its comment."""
    plain = all("!" <= letter <= "~" and letter not in "()" for letter in text)
    return plain and (text.startswith(("http://", "https://", "mailto:")) or "@" in text)


def read_secret_file(path: Path, what: str) -> str:
    try:
        if path.stat().st_mode & 0o077:
            raise BadSettings(f"{path} can be read by others; run `chmod 600 {path}`.")
        secret = path.read_text("utf-8").strip()
    except OSError as trouble:
        raise BadSettings(f"The {what} cannot be read: {trouble}") from trouble
    except UnicodeDecodeError as trouble:
        raise BadSettings(f"The {what} {path} does not hold text.") from trouble
    if not secret:
        raise BadSettings(f"The {what} {path} is empty.")
    return secret


def check_admin_token(token: str) -> str:
    """Refuse an admin token that no request can carry: it would lock everybody out."""
    if not 0 < len(token) <= LONGEST_TOKEN or not all("!" <= letter <= "~" for letter in token):
        raise BadSettings(
            "The admin token (HEADWATER_ADMIN_TOKEN, or its file) must be 1 to"
            f" {LONGEST_TOKEN} plain ASCII characters without spaces. Leave it out for none."
        )
    return token
