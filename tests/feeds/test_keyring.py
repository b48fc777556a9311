"""Credentials: checked to the letter, merged from the general to the special, kept to an origin."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.core.errors import BadInput, BadUrl
from headwater.feeds.keyring import (
    Basic,
    Credentials,
    Keyring,
    check_credentials,
    decode_credentials,
    encode_credentials,
    origins_of,
)

HOME = "https://feeds.example.org"
URL = f"{HOME}/private.xml"


def for_home(**held: object) -> Credentials:
    return Credentials((HOME,), **held)  # type: ignore[arg-type]


def sent(*parts: Credentials, url: str = URL) -> dict[str, str]:
    return dict(Keyring(HOME, parts).headers_for(url))


def test_a_basic_login_is_sent_as_the_standard_writes_it() -> None:
    credentials = for_home(basic=Basic("Aladdin", "open sesame"))
    assert sent(credentials) == {"Authorization": "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ=="}


def test_letters_beyond_ascii_in_a_password_go_as_utf_8() -> None:
    assert sent(for_home(basic=Basic("test", "123£"))) == {
        "Authorization": "Basic dGVzdDoxMjPCow=="
    }


def test_a_bearer_token_headers_and_cookies_go_together() -> None:
    credentials = for_home(
        headers=(("X-Api-Key", "k1"),), cookies=(("sid", "1"), ("lang", "en")), bearer="abc"
    )
    assert check_credentials(credentials) is credentials
    assert sent(credentials) == {
        "X-Api-Key": "k1",
        "Authorization": "Bearer abc",
        "Cookie": "sid=1; lang=en",
    }


def test_a_subscriptions_own_values_win_over_its_groups_name_by_name() -> None:
    group = for_home(
        headers=(("X-Api-Key", "group"), ("X-Team", "river")),
        cookies=(("sid", "group"), ("lang", "en")),
        basic=Basic("group", "g"),
    )
    own = for_home(headers=(("x-api-key", "own"),), cookies=(("sid", "own"),), bearer="own")
    assert sent(group, own) == {
        "x-api-key": "own",
        "X-Team": "river",
        "Authorization": "Bearer own",
        "Cookie": "sid=own; lang=en",
    }


def test_an_own_cookie_header_replaces_all_cookies_of_the_group() -> None:
    group = for_home(cookies=(("sid", "group"),))
    assert sent(group, for_home(headers=(("Cookie", "a=b"),))) == {"Cookie": "a=b"}


def test_an_own_authorization_header_replaces_the_groups_login() -> None:
    own = for_home(headers=(("Authorization", "Token own"),))
    assert sent(for_home(bearer="group"), own) == {"Authorization": "Token own"}


@pytest.mark.parametrize(
    "url",
    [
        "http://feeds.example.org/private.xml",
        "https://feeds.example.org:8443/private.xml",
        "https://example.org/private.xml",
        "https://a.feeds.example.org/private.xml",
        "https://feeds.example.org.evil.example/private.xml",
        "https://feeds.example.org./private.xml",
    ],
)
def test_another_scheme_host_or_port_gets_nothing(url: str) -> None:
    assert sent(for_home(bearer="abc"), url=url) == {}


@pytest.mark.parametrize(
    "url",
    ["https://feeds.example.org:443/other", "https://FEEDS.example.org/x?y#z", f"{HOME}/"],
)
def test_every_spelling_and_path_of_the_own_origin_gets_them(url: str) -> None:
    assert sent(for_home(bearer="abc"), url=url) == {"Authorization": "Bearer abc"}


def test_a_feed_that_lives_elsewhere_now_shows_nothing_of_what_it_was_given() -> None:
    moved = Keyring("https://new.example", (for_home(bearer="abc"),))
    assert moved.headers_for("https://new.example/feed") == ()
    assert moved.headers_for(URL) == ()


def test_a_part_for_another_origin_stays_out() -> None:
    other = Credentials(("https://other.example",), bearer="other")
    assert sent(other, for_home(headers=(("X-Api-Key", "k"),))) == {"X-Api-Key": "k"}


GOOD = for_home(bearer="abc")

BAD: list[tuple[str, Credentials]] = [
    ("nothing at all", for_home()),
    ("no origin", replace(GOOD, origins=())),
    ("too many origins", replace(GOOD, origins=tuple(f"https://{n}.example" for n in range(33)))),
    ("two logins", replace(GOOD, basic=Basic("a", "b"))),
    ("a login and an Authorization", replace(GOOD, headers=(("authorization", "x"),))),
    ("cookies twice", for_home(cookies=(("a", "b"),), headers=(("Cookie", "c=d"),))),
    ("a header twice", for_home(headers=(("X-A", "1"), ("x-a", "2")))),
    ("a cookie twice", for_home(cookies=(("a", "1"), ("a", "2")))),
    ("a colon in the user name", for_home(basic=Basic("a:b", "c"))),
    ("a line break in the password", for_home(basic=Basic("a", "b\r\nc"))),
    ("a long password", for_home(basic=Basic("a", "b" * 1025))),
    ("a space in the token", for_home(bearer="a b")),
    ("a line break in the token", for_home(bearer="a\nb")),
    ("an empty token", for_home(bearer="")),
    ("too many headers", for_home(headers=tuple((f"X-{n}", "1") for n in range(17)))),
    ("too many cookies", for_home(cookies=tuple((f"c{n}", "1") for n in range(33)))),
    ("too much", for_home(headers=tuple((f"X-{n}", "1" * 4000) for n in range(3)))),
    ("a long value", for_home(headers=(("X-A", "1" * 4097),))),
    ("a semicolon in a cookie", for_home(cookies=(("a", "b; c=d"),))),
    ("a name with a space", for_home(headers=(("X A", "1"),))),
    ("a name with a colon", for_home(headers=(("X:A", "1"),))),
    ("an empty name", for_home(headers=(("", "1"),))),
    ("an empty value", for_home(headers=(("X-A", ""),))),
    ("a space around a value", for_home(headers=(("X-A", " 1"),))),
    ("a letter beyond ASCII", for_home(headers=(("X-A", "ä"),))),
]


@pytest.mark.parametrize("credentials", [bad for _, bad in BAD], ids=[why for why, _ in BAD])
def test_what_cannot_be_sent_exactly_is_refused(credentials: Credentials) -> None:
    with pytest.raises(BadInput):
        check_credentials(credentials)


@pytest.mark.parametrize(
    "name",
    [
        "Host", "content-length", "Transfer-Encoding", "Connection", "Keep-Alive", "TE", "Trailer",
        "Upgrade", "Proxy-Authorization", "Proxy-Connection", "Accept-Encoding", "If-None-Match",
        "if-modified-since", "If-Range", "Range", "Expect", "User-Agent", "Cache-Control",
    ],
)  # fmt: skip
def test_fields_of_the_connection_and_of_our_own_manners_cannot_be_set(name: str) -> None:
    with pytest.raises(BadInput, match="not for you"):
        check_credentials(for_home(headers=((name, "x"),)))


@given(before=st.text(max_size=5), control=st.sampled_from("\r\n\0\x7f\x1b\x0b"), after=st.text())
def test_no_control_character_gets_into_a_value(before: str, control: str, after: str) -> None:
    with pytest.raises(BadInput):
        check_credentials(for_home(headers=(("X-A", before + control + after),)))
    with pytest.raises(BadInput):
        check_credentials(for_home(cookies=(("a", before + control + after),)))


@pytest.mark.parametrize("secret", ["geheim\r\nwort", "geheim wort;"])
def test_a_refusal_never_says_the_secret(secret: str) -> None:
    for credentials in (
        for_home(headers=(("X-Key", secret + "\n"),)),
        for_home(cookies=(("sid", secret),)),
        for_home(bearer=secret),
        for_home(basic=Basic("me", secret + "\n")),
    ):
        with pytest.raises(BadInput) as refusal:
            check_credentials(credentials)
        assert "geheim" not in f"{refusal.value.message} {refusal.value.facts}"


def test_no_secret_is_in_a_repr() -> None:
    held = for_home(
        headers=(("X-Key", "geheim"),), cookies=(("sid", "geheim"),), basic=Basic("me", "geheim")
    )
    assert "geheim" not in repr(held)
    assert "geheim" not in repr(held.basic)
    assert "geheim" not in repr(Keyring(HOME, (for_home(bearer="geheim"),)))


def test_only_the_kinds_are_told() -> None:
    held = for_home(headers=(("X-Key", "k"),), cookies=(("sid", "1"),), basic=Basic("me", "p"))
    assert held.kinds == ("headers", "cookies", "basic")
    assert for_home(bearer="t").kinds == ("bearer",)


def test_what_the_vault_holds_comes_back_the_same() -> None:
    held = Credentials(
        (HOME, "http://127.0.0.1:8080"),
        headers=(("X-Key", "k"),),
        cookies=(("sid", "1"),),
        basic=Basic("mé", "p"),
    )
    assert decode_credentials(encode_credentials(held)) == held
    assert decode_credentials(encode_credentials(for_home(bearer="t"))) == for_home(bearer="t")


def test_origins_come_from_urls_once_each() -> None:
    urls = [
        "https://a.example/x",
        "HTTPS://A.example:443/y",
        "http://a.example",
        "http://b.example:8080/",
    ]
    assert origins_of(urls) == ("https://a.example", "http://a.example", "http://b.example:8080")


def test_an_origin_that_is_no_http_url_is_refused() -> None:
    with pytest.raises(BadUrl):
        origins_of(["ftp://a.example"])
