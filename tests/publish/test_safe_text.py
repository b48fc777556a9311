"""Addresses and numbers as strict readers of feeds take them."""

import pytest

from headwater.publish.safe_text import amount_or_none, email_or_none, readable_names, web_url


@pytest.mark.parametrize(
    ("given", "written"),
    [
        ("https://posts.example/a b?c[]={d}|e", "https://posts.example/a%20b?c%5B%5D=%7Bd%7D%7Ce"),
        ("https://posts.example/x#y#z", "https://posts.example/x#y%23z"),
        ("https://posts.example/100%", "https://posts.example/100%25"),
        ("https://posts.example/%C3%A4%zz", "https://posts.example/%C3%A4%25zz"),
        ("https://a{b}.example/", "https://a%7Bb%7D.example/"),
        ("http://[2001:db8::1]:8080/[x]", "http://[2001:db8::1]:8080/%5Bx%5D"),
        ("https://posts.example/a;b=c,d&e='f'(g)*!$", "https://posts.example/a;b=c,d&e='f'(g)*!$"),
        ("javascript:alert(1)", None),
        ("/x", None),
    ],
)
def test_an_address_holds_only_what_a_uri_may(given: str, written: str | None) -> None:
    assert web_url(given) == written


def test_a_magnet_only_where_it_may_stand() -> None:
    magnet = "magnet:?xt=urn:btih:00&dn=[a] b"
    assert web_url(magnet) is None
    assert web_url(magnet, "magnet:") == "magnet:?xt=urn:btih:00&dn=%5Ba%5D%20b"


def test_numbers_that_cannot_be_are_not_said() -> None:
    assert [amount_or_none(number) for number in (None, -1, 0, 5, 2**53 - 1, 2**53)] == [
        *(None, None, 0, 5, 2**53 - 1, None)
    ]


def test_names_are_readable_and_said_once() -> None:
    assert readable_names(["a", "", "\x00", " ", "a", "b\x01"]) == ["a", "b"]


def test_an_email_is_one_after_what_xml_cannot_carry_is_gone() -> None:
    assert email_or_none("\x00@\x01") is None
    assert email_or_none("ada\x00@posts.example") == "ada@posts.example"
