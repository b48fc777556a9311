"""docs/settings.md has every setting, with its real names and its real default."""

from pathlib import Path
from typing import Any

import pytest
from pydantic import AliasChoices

from headwater.settings import Settings
from tests.support.docs_pages import rows

DOCUMENTED = rows("docs/settings.md")


def shown(default: Any) -> str:
    """A default as the page shows it."""
    match default:
        case None | []:
            return "none"
        case list():
            return ", ".join(f"`{each}`" for each in default)
        case bool():
            return f"`{str(default).lower()}`"
        case float() if default.is_integer():
            return f"`{int(default)}`"
        case str() | int() | float() | Path():
            return f"`{default}`"
        case _:
            raise TypeError(f"no way to show {default!r}")


@pytest.mark.parametrize("name", Settings.model_fields)
def test_a_setting_is_documented_with_its_default(name: str) -> None:
    assert name in DOCUMENTED, f"docs/settings.md has no row for {name}"
    default, meaning = DOCUMENTED[name][0], DOCUMENTED[name][-1]
    field = Settings.model_fields[name]
    assert default == shown(field.get_default(call_default_factory=True))
    assert len(meaning) > 10


@pytest.mark.parametrize("name", Settings.model_fields)
def test_a_setting_that_works_without_the_prefix_says_so(name: str) -> None:
    alias = Settings.model_fields[name].validation_alias
    bare = isinstance(alias, AliasChoices) and name.upper() in alias.choices
    assert (DOCUMENTED[name][1] == "yes") == bare


def test_no_setting_is_documented_that_does_not_exist() -> None:
    assert set(DOCUMENTED) - set(Settings.model_fields) <= {"HEADWATER_CONFIG"}
