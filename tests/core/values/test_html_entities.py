"""Character references of HTML: what browsers make of them, and what must not stop us."""

import pytest

from headwater.core.values.html_entities import unescaped, unescaped_attribute

TOO_LONG = f"&#{'1' * 5000};"
"""Python reads no number of so many digits."""


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("/f?a=1&section=2", "/f?a=1&section=2"),
        ("/f?a=1&copy=2&timestamp=3", "/f?a=1&copy=2&timestamp=3"),
        ("/f?a&region", "/f?a&region"),
        ("/f?a=1&amp;section=2", "/f?a=1&section=2"),
        ("/f?a=1&#38;b=2&#x26;c=3", "/f?a=1&b=2&c=3"),
        ("&copy 2026 &copy;=x &eacute;&eacute", "© 2026 ©=x éé"),
        ("&unknown; & &; &#; &#x;", "&unknown; & &; &#; &#x;"),
        ("plain", "plain"),
    ],
)
def test_in_an_attribute_a_name_without_semicolon_counts_only_as_a_whole_word(
    given: str, meant: str
) -> None:
    assert unescaped_attribute(given) == meant


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("a &amp; b &copyx", "a & b ©x"),
        (f"a{TOO_LONG}b", "a\ufffdb"),
        (TOO_LONG.rstrip(";"), "\ufffd"),
        (f"&#{'0' * 5000}65;", "A"),
        (f"&#{'0' * 5000};", "\ufffd"),
        (f"&#x{'1' * 5000};", "\ufffd"),
    ],
)
def test_no_number_is_too_long(given: str, meant: str) -> None:
    assert unescaped(given) == meant


def test_no_number_is_too_long_in_an_attribute() -> None:
    assert unescaped_attribute(f"/x?{TOO_LONG}&a=1") == "/x?\ufffd&a=1"
