"""Where a registered fetcher lives: nothing in its base_url can lead another way than it seems."""

import pytest

from headwater.core.errors import BadUrl
from headwater.subscriptions.fetchers.address import can_handle_url, check_base_url, news_url


@pytest.mark.parametrize(
    ("given", "stored"),
    [
        ("http://localhost:3001", "http://localhost:3001"),
        ("http://localhost:3001/", "http://localhost:3001"),
        ("  HTTPS://Fetch.Example.ORG:443/  ", "https://fetch.example.org"),
        ("http://fetch.example.org:80", "http://fetch.example.org"),
        ("https://example.org/fetchers/mikan-2_b~", "https://example.org/fetchers/mikan-2_b~"),
        ("https://example.org/v1.2/", "https://example.org/v1.2"),
        ("http://[::1]:3001", "http://[::1]:3001"),
        ("http://127.1:3001", "http://127.0.0.1:3001"),
        ("https://例え.example", "https://xn--r8jz45g.example"),
    ],
)
def test_a_plain_address_is_stored_in_one_spelling(given: str, stored: str) -> None:
    assert check_base_url(given) == stored


@pytest.mark.parametrize(
    "given",
    [
        "",
        "localhost:3001",
        "ftp://example.org",
        "inproc:feed",
        "unix:///var/run/docker.sock",
        "file:///etc/passwd",
        "gopher://example.org",
        "http://",
        "http:///path",
        "http://user@example.org",
        "http://user:word@example.org",
        "http://example.org@evil.example",
        "http://example.org?",
        "http://example.org/?a=b",
        "http://example.org#x",
        "http://example.org/..;/admin",
        "http://example.org/a;b",
        "http://example.org/../admin",
        "http://example.org/./a",
        "http://example.org/a/..",
        "http://example.org/.env",
        "http://example.org/a.",
        "http://example.org/%2e%2e/admin",
        "http://example.org/%2fadmin",
        "http://example.org//admin",
        "http://example.org\\@evil.example",
        "http://example.org/a b",
        "http://example.org/ä",
        "http://example.org:99999",
        "http://exa mple.org",
        "http://example.org\r\nX: y",
        "http://%31%32%37.0.0.1",
        "http://example.org/" + "a" * 255,
    ],
)
def test_whatever_could_lead_elsewhere_is_refused(given: str) -> None:
    with pytest.raises(BadUrl):
        check_base_url(given)


def test_the_paths_are_ours() -> None:
    base = "http://localhost:3001/"
    assert can_handle_url(base) == "http://localhost:3001/can-handle-subscription"
    assert news_url(base) == "http://localhost:3001/subscriptions"
