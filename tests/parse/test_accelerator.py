"""Which way is taken: the compiled one only where all of it is there and fits."""

import pytest

from headwater.parse import accelerator


@pytest.mark.parametrize(
    "trouble",
    [
        ModuleNotFoundError("No module named 'headwater.parse.native.entries'"),
        ValueError("lxml.etree._Element size changed"),
        TypeError("C function lxml.etree.textOf has wrong signature"),
        AttributeError("module 'headwater.parse.links' has no attribute 'IN_ADDRESS'"),
    ],
)
def test_what_was_compiled_for_another_lxml_or_headwater_is_left_alone(
    trouble: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(name: str) -> None:
        raise trouble

    monkeypatch.setattr(accelerator, "import_module", refuse)
    assert accelerator._load_compiled() == (None, str(trouble))


def test_words_for_people_tell_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(accelerator, "COMPILED", None)
    monkeypatch.setattr(accelerator, "_missing", "no compiler")
    assert accelerator.describe() == "plain Python, nothing is compiled (no compiler)"
    monkeypatch.setattr(accelerator, "COMPILED", accelerator.PLAIN)
    assert accelerator.describe() == "compiled"
