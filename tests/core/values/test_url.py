"""One parser decides what a URL means, for people, for identity and for logs."""

import time

import pytest
from ada_url import URL
from hypothesis import example, given
from hypothesis import strategies as st

from headwater.core.errors import BadUrl
from headwater.core.values.url import (
    LONGEST_URL,
    UrlParts,
    canonical,
    check_source_url,
    host_of,
    origin_of,
    parsed_parts,
    parts_of,
    plain_parts,
    port_of,
    redacted,
    resolve,
    shard_of,
)


@pytest.mark.parametrize(
    ("typed", "requested"),
    [
        ("https://example.org/feed.xml", "https://example.org/feed.xml"),
        ("HTTP://EXAMPLE.org", "http://example.org/"),
        ("http://example.org:80/a", "http://example.org/a"),
        ("https://example.org:8443/a", "https://example.org:8443/a"),
        ("https://example.org/a#top", "https://example.org/a"),
        ("  https://example.org/a\n", "https://example.org/a"),
        ("\ufeffhttps://example.org/a", "https://example.org/a"),
        ("feed://example.org/a", "http://example.org/a"),
        ("feed:https://example.org/a", "https://example.org/a"),
        ("FEED://https://example.org/a", "https://example.org/a"),
        ("https://example.org/{{7*7}}", "https://example.org/%7B%7B7*7%7D%7D"),
        ("https://münchen.example/ä", "https://xn--mnchen-3ya.example/%C3%A4"),
        ("https://example.org/a/../b", "https://example.org/b"),
        ("https://example.org./a", "https://example.org./a"),
        ("https://[2606:2800::1]/a", "https://[2606:2800::1]/a"),
    ],
)
def test_a_typed_url_becomes_the_url_that_is_requested(typed: str, requested: str) -> None:
    assert check_source_url(typed) == requested


@pytest.mark.parametrize(
    ("typed", "requested"),
    [
        ("http://e.org/?b=2&a=1", "http://e.org/?b=2&a=1"),
        ("http://e.org/?q='x'&r=%7e|{}", "http://e.org/?q='x'&r=%7e|{}"),
        ("http://e.org/?a?b", "http://e.org/?a?b"),
        ("http://e.org?", "http://e.org/?"),
        ("http://e.org/?q=a b", "http://e.org/?q=a%20b"),
        ("http://e.org/?q=ä", "http://e.org/?q=%C3%A4"),
    ],
)
def test_a_query_is_sent_as_given_unless_http_cannot_carry_it(typed: str, requested: str) -> None:
    assert check_source_url(typed) == requested


@pytest.mark.parametrize(
    ("typed", "complaint"),
    [
        ("http://localhost\0.example.com/", "control character"),
        ("http://localhost%00.example.com/", "host or port"),
        ("http://a@b@127.0.0.1/", "user name"),
        ("http://127.0.0.1:80@example.com/", "user name"),
        ("http://127.0.0.1%2f@example.com/", "user name"),
        ("http://@example.com/", "user name"),
        ("http://exa\nmple.com/", "control character"),
        ("http://example.com/a\tb", "control character"),
        ("http://example.com/a\x85b", "control character"),
        ("file:///etc/passwd", "not file:"),
        ("FILE:///etc/passwd", "not file:"),
        ("file:.//", "not file:"),
        ("ftp://example.com/", "not ftp:"),
        ("gopher://example.com/", "not gopher:"),
        ("data:text/xml,<rss/>", "not data:"),
        ("dict://example.com/", "not dict:"),
        ("jar:http://example.com/!/", "not jar:"),
        ("source:file:/x", "not source:"),
        ("http+unix://%2Frun%2Fx.sock/", "not http+unix:"),
        ("feed:file:///etc/passwd", "not feed:"),
        ("feed:feed:http://example.com/", "not feed:"),
        ("http:127.0.0.1/", "no host"),
        ("http:///x", "no host"),
        ("https://", "no host"),
        ("example.org/feed.xml", "begin with http"),
        ("", "begin with http"),
        ("http://example.com:65536/", "host or port"),
        ("http://example.com:99999/", "host or port"),
        ("http://example.com:-1/", "host or port"),
        ("http://example.com:80:81/", "host or port"),
        ("http://xn--\uffff/", "host or port"),
        ("http://exa mple.com/", "host or port"),
        ("http://999.1.1.1/", "host or port"),
        ("http://a..example.com/", "empty part"),
        (f"http://{'a' * 64}.example.com/", "63 characters"),
        (f"http://{'a.' * 130}com/", "253 characters"),
        ("http://\ud800.example.com/", "host or port"),
    ],
)
def test_what_is_wrong_with_a_typed_url_is_named(typed: str, complaint: str) -> None:
    with pytest.raises(BadUrl) as refusal:
        check_source_url(typed)
    assert complaint in refusal.value.message


@pytest.mark.parametrize(
    "typed",
    [
        "http://example.com/" + "a" * 1_000_000,
        "http://" + "@" * 100_000,
        "http://example.com/" + "%" * 100_000,
        "http://" + "ü" * 65_536 + "/",
        "http://xn--" + "a" * 60_000,
        "http://" + "ü" * 4_000,
        "http://" + "xn--a." * 600,
        "http://example.com/" + "ü" * 4_000,
    ],
)
def test_an_endless_url_is_refused_in_no_time(typed: str) -> None:
    started = time.thread_time()
    with pytest.raises(BadUrl):
        check_source_url(typed)
    assert time.thread_time() - started < 0.01


def test_the_longest_url_is_accepted() -> None:
    longest = "http://example.com/" + "a" * (LONGEST_URL - 19)
    assert check_source_url(longest) == longest


def test_the_fragment_never_becomes_the_host() -> None:
    assert check_source_url("http://example.com#@127.0.0.1/") == "http://example.com/"


@pytest.mark.parametrize(
    ("typed", "host"),
    [
        ("http://2130706433/", "127.0.0.1"),
        ("http://0x7f000001/", "127.0.0.1"),
        ("http://0177.0.0.1/", "127.0.0.1"),
        ("http://127.1/", "127.0.0.1"),
        ("http://017700000001/", "127.0.0.1"),
        ("http://127.0.0.01/", "127.0.0.1"),
        ("http://①②⑦.⓪.⓪.①/", "127.0.0.1"),
        ("http://127。0。0。1/", "127.0.0.1"),
        ("http://ⓛocalhost/", "localhost"),
        ("http://localhost./", "localhost"),
        ("http://[::ffff:127.0.0.1]/", "::ffff:7f00:1"),
    ],
)
def test_a_disguised_host_shows_its_face(typed: str, host: str) -> None:
    assert host_of(check_source_url(typed)) == host


@pytest.mark.parametrize(
    ("url", "identity"),
    [
        ("HTTP://Example.ORG:80/A?b#c", "http://example.org/A?b"),
        ("https://example.org:443", "https://example.org/"),
        ("https://example.org/%7Ea", "https://example.org/%7Ea"),
        ("mailto:a@example.org", None),
        ("javascript:alert(1)", None),
        ("ftp://example.org/feed", None),
        ("/relative", None),
        ("", None),
        ("http://[", None),
    ],
)
def test_identity_of_a_url(url: str, identity: str | None) -> None:
    assert canonical(url) == identity


@given(st.text(max_size=60), st.sampled_from(["http://", "https://a.example/", "HTTP://A:80/?"]))
def test_canonical_is_idempotent(tail: str, head: str) -> None:
    once = canonical(head + tail)
    assert once is None or canonical(once) == once


@pytest.mark.parametrize(
    ("base", "reference", "absolute"),
    [
        ("https://e.org/a/b.xml", "c.html", "https://e.org/a/c.html"),
        ("https://e.org/a/b.xml", "/c", "https://e.org/c"),
        ("https://e.org/a/b.xml", "//f.org/c", "https://f.org/c"),
        ("https://e.org/a/b.xml", "?x=1", "https://e.org/a/b.xml?x=1"),
        ("https://e.org/a/b.xml", "#x", "https://e.org/a/b.xml#x"),
        ("https://e.org/a", "https://f.org/b", "https://f.org/b"),
        (None, "https://f.org/b", "https://f.org/b"),
        (None, "magnet:?xt=urn:btih:abc", "magnet:?xt=urn:btih:abc"),
        ("not a url", "https://f.org/b'c", "https://f.org/b'c"),
        (None, "c.html", None),
        ("not a url", "c.html", None),
        ("https://e.org/a", "  ", None),
        ("https://e.org/a", "", None),
        ("https://e.org/a", "http://[", None),
        ("https://e.org/a", "http://\ud800/", None),
    ],
)
def test_references_are_resolved(base: str | None, reference: str, absolute: str | None) -> None:
    assert resolve(base, reference) == absolute


@given(st.text(alphabet="abz019-_./~%?=&,:+xn", max_size=40))
@example("a.xn--zz.com/")
@example("a.com/x/../y")
@example("a.com/x/.")
@example("1.2.com/")
def test_the_shortcut_for_plain_references_changes_nothing(tail: str) -> None:
    reference = "https://" + tail
    assert resolve(None, reference) == resolve("https://other.example/x", " " + reference)


def test_the_shortcut_takes_linear_time() -> None:
    started = time.thread_time()
    resolve(None, "https://" + "a-" * 50_000 + "." * 50_000 + "é")
    resolve(None, "https://a.example/" + "a." * 50_000 + "é")
    assert time.thread_time() - started < 0.1


def test_parts_of_a_url() -> None:
    assert host_of("https://[::1]:8080/") == "::1"
    assert port_of("https://[::1]:8080/") == 8080
    assert (port_of("http://e.org/"), port_of("https://e.org/")) == (80, 443)
    assert origin_of("https://E.org:443/a?b") == "https://e.org"
    assert origin_of("http://e.org:8080/a") == "http://e.org:8080"
    assert parts_of("http://127.1/").is_literal
    assert parts_of("http://[::1]/").is_literal
    assert not parts_of("http://e.org/").is_literal
    with pytest.raises(BadUrl):
        host_of("ftp://e.org/")


@pytest.mark.parametrize(
    ("url", "host", "target"),
    [
        ("http://a.example\\@b.example/", "a.example", "http://a.example/@b.example/"),
        ("http:\\\\a.example\\x?q='1'#f", "a.example", "http://a.example/x?q='1'"),
        (" http://a.exa\tmple/?q=a\tb ", "a.example", "http://a.example/?q=ab"),
        ("http://127.1", "127.0.0.1", "http://127.0.0.1/"),
    ],
)
def test_what_is_handed_on_is_the_parsers_own_spelling(url: str, host: str, target: str) -> None:
    assert (parts_of(url).host, parts_of(url).target) == (host, target)


_PIECES = st.sampled_from(
    (
        "http: https: // / \\ @ : # ? user p%40w e.org a.b. 80 8080 [::1] [::ffff:1.2.3.4] 127.1"
        " 0x7f.1 xn--bcher-kva bücher %2e ."
    ).split()
)


@example("http://user:p%40w@e.org:8080/@x:1")
@example("https://@e.org/")
@example("http://:@e.org/")
@example("http://a@b@e.org:443/?u@v:1#w@x")
@example("https://[::ffff:1.2.3.4]:443")
@given(st.one_of(st.lists(_PIECES, max_size=8).map("".join), st.text().map("http://".__add__)))
def test_the_parts_are_those_that_the_parser_names(url: str) -> None:
    """They are read off its spelling; asked one by one, it says the same."""
    try:
        parser = URL(url)
    except ValueError:
        parser = None
    if parser is None or parser.protocol not in ("http:", "https:"):
        with pytest.raises(BadUrl):
            parts_of(url)
        return
    parts = parts_of(url)
    assert parts.scheme == parser.protocol.rstrip(":")
    assert parts.host == parser.hostname.strip("[]").rstrip(".")
    assert parts.port == int(parser.port or {"http": 80, "https": 443}[parts.scheme])
    assert parts.origin == parser.origin
    assert parts.has_userinfo == bool(parser.username or parser.password)


_PLAIN_PIECES = st.sampled_from(
    (
        "http:// https:// e.org a-b.example.com -a.org a..org x.xn--p1ai 127.0.0.1 10.1.2.255"
        " 1.2.3.256 01.2.3.4 1.2.3 :8080 :80 :443 :65535 :70000 :08 / /feed.xml /a/../b /./ /.x"
        " ?a=1&b=%20 ?~ # @ A.org"
    ).split()
)


@example("http://127.1.0.1:8080/feed.xml")
@example("https://www.example.org/a/feed?format=atom&n=%2F")
@example("https://example.org:443/")
@example("http://example.org:80/x")
@example("http://999.1.1.1/")
@example("http://a.123/")
@given(st.lists(_PLAIN_PIECES, max_size=6).map("".join))
def test_a_plain_url_has_the_parts_that_the_parser_finds(url: str) -> None:
    plain = plain_parts(url)
    if plain is not None:
        assert plain == parsed_parts(url)


def test_most_urls_of_feeds_are_plain() -> None:
    assert plain_parts("https://www.example.org/feed.xml") == UrlParts(
        "https://www.example.org/feed.xml",
        "https",
        "www.example.org",
        443,
        "https://www.example.org",
        is_literal=False,
        has_userinfo=False,
    )
    assert plain_parts("http://10.0.0.7:8080/?a=1") == UrlParts(
        "http://10.0.0.7:8080/?a=1",
        "http",
        "10.0.0.7",
        8080,
        "http://10.0.0.7:8080",
        is_literal=True,
        has_userinfo=False,
    )
    for odd in ("https://e.org", "https://E.org/", "http://0177.0.0.1/", "https://a@e.org/"):
        assert plain_parts(odd) is None


def test_dots_of_a_path_are_left_to_the_parser() -> None:
    assert parts_of("https://e.org/a/../b").target == "https://e.org/b"
    assert parts_of("https://e.org/./b?c=1").target == "https://e.org/b?c=1"


def test_a_host_name_has_253_characters_at_most() -> None:
    """The dot at its end is no part of the name."""
    longest = "a." * 125 + "abc"
    assert check_source_url(f"http://{longest}/") == f"http://{longest}/"
    assert check_source_url(f"http://{longest}./") == f"http://{longest}./"
    with pytest.raises(BadUrl, match="253"):
        check_source_url(f"http://{longest}d/")


def test_a_host_keeps_its_shard() -> None:
    assert shard_of("example.org") == 774
    assert all(0 <= shard_of(f"host{n}.example") < 1024 for n in range(200))
    assert len({shard_of(f"host{n}.example") for n in range(200)}) > 150


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://e.org/a?token=s3cret&b=1", "https://e.org/a?token=REDACTED&b=1"),
        ("https://e.org/?passkey=x#y", "https://e.org/?passkey=REDACTED#y"),
        ("https://e.org/?passkey2=x&jwt=y", "https://e.org/?passkey2=REDACTED&jwt=REDACTED"),
        ("https://e.org/?sid=x&side=y", "https://e.org/?sid=REDACTED&side=y"),
        ("https://e.org/?api-key2=x", "https://e.org/?api-key2=REDACTED"),
        ("https://e.org/?api_key=x&apikey=y", "https://e.org/?api_key=REDACTED&apikey=REDACTED"),
        ("https://e.org/?key=x;sig=y", "https://e.org/?key=REDACTED;sig=REDACTED"),
        ("https://e.org/?X-Amz-Signature=x", "https://e.org/?X-Amz-Signature=REDACTED"),
        ("https://e.org/?%74oken=x", "https://e.org/?%74oken=REDACTED"),
        ("https://e.org/?auth=x&author=me", "https://e.org/?auth=REDACTED&author=me"),
        ("https://e.org/?keyword=x&page=2", "https://e.org/?keyword=x&page=2"),
        ("https://e.org/#access_token=x", "https://e.org/#access_token=REDACTED"),
        ("https://me:pw@e.org/?a=1", "https://e.org/?a=1"),
        ("https://me:p@ss@e.org/", "https://e.org/"),
        ("//me@e.org/", "//e.org/"),
        ("https://e.org/@me?q=a@b", "https://e.org/@me?q=a@b"),
        ("not a url?secret=x", "not a url?secret=REDACTED"),
    ],
)
def test_secrets_do_not_reach_the_logs(url: str, shown: str) -> None:
    assert redacted(url) == shown
