"""Magnet links: three fields are read, everything else that they say is dropped."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headwater.anime.torrents.magnet import LONGEST, MOST_TRACKERS, infohash_of, parse_magnet

HEX = "0123456789abcdef0123456789abcdef01234567"
BASE32 = "AERUKZ4JVPG66AJDIVTYTK6N54ASGRLH"
V2 = "a" * 64


def test_a_hash_in_base32_is_the_same_hash_in_hex() -> None:
    assert infohash_of(BASE32) == HEX
    assert infohash_of(BASE32.lower()) == HEX


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        (HEX, HEX),
        (HEX.upper(), HEX),
        (f" {HEX}\n", HEX),
        (V2, V2),
        (f"1220{V2}", V2),
        (HEX[:-1], None),
        (f"{HEX}0", None),
        ("g" * 40, None),
        ("1" * 32, None),
        ("", None),
        ("all", None),
    ],
)
def test_only_a_hash_that_a_torrent_can_have_is_one(written: str, meant: str | None) -> None:
    assert infohash_of(written) == meant


def test_hash_name_and_trackers_are_kept() -> None:
    found = parse_magnet(
        f"magnet:?xt=urn:btih:{BASE32}&dn=%5BA%5D+Show+-+01&tr=http%3A%2F%2Ft.example%2Fannounce"
        "&tr=udp://u.example:6969/announce"
    )
    assert found is not None
    assert found.infohash == HEX
    assert found.name == "[A] Show - 01"
    assert found.trackers == ("http://t.example/announce", "udp://u.example:6969/announce")
    assert found.uri == (
        f"magnet:?xt=urn:btih:{HEX}&dn=%5BA%5D%20Show%20-%2001"
        "&tr=http%3A%2F%2Ft.example%2Fannounce&tr=udp%3A%2F%2Fu.example%3A6969%2Fannounce"
    )


def test_sources_of_files_and_anything_unknown_are_dropped() -> None:
    found = parse_magnet(
        f"magnet:?xt=urn:btih:{HEX}&xs=http://10.0.0.1/x&as=http://127.0.0.1/&ws=http://h/&x.pe=1"
    )
    assert found is not None
    assert found.uri == f"magnet:?xt=urn:btih:{HEX}"


@pytest.mark.parametrize(
    "tracker",
    [
        "http://127.0.0.1:8080/announce",
        "http://10.1.2.3/announce",
        "http://192.168.1.1/announce",
        "udp://169.254.169.254/announce",
        "http://[::1]/announce",
        "http://[fe80::1]/announce",
        "http://127.1/announce",
        "http://0x7f.1/announce",
        "http://localhost/announce",
        "http://router/announce",
        "http://nas.local/announce",
        "file:///etc/passwd",
        "javascript:alert(1)",
        "http://[broken/announce",
        "http://t.example:99999/announce",
        "http://t.example/an nounce",
    ],
)
def test_no_tracker_leads_into_our_own_network(tracker: str) -> None:
    found = parse_magnet(f"magnet:?xt=urn:btih:{HEX}&tr={tracker}")
    assert found is not None
    assert found.trackers == ()


@pytest.mark.parametrize(
    "tracker", ["http://104.143.10.186:8000/announce", "udp://[2606:4700::1]:1/"]
)
def test_public_addresses_are_trackers_too(tracker: str) -> None:
    found = parse_magnet(f"magnet:?xt=urn:btih:{HEX}&tr={tracker}")
    assert found is not None
    assert found.trackers == (tracker,)


def test_an_ampersand_that_was_escaped_twice_still_separates() -> None:
    found = parse_magnet(f"magnet:?xt=urn:btih:{HEX}&amp;dn=Show&amp;tr=http://t.example/a")
    assert found is not None
    assert (found.name, found.trackers) == ("Show", ("http://t.example/a",))


def test_a_torrent_of_both_versions_goes_by_the_first() -> None:
    found = parse_magnet(f"magnet:?xt.1=urn:btmh:1220{V2}&xt.2=urn:btih:{HEX}")
    assert found is not None
    assert found.infohash == HEX


def test_a_torrent_of_version_two_alone_keeps_its_long_hash() -> None:
    found = parse_magnet(f"magnet:?xt=urn:btmh:1220{V2}")
    assert found is not None
    assert found.uri == f"magnet:?xt=urn:btmh:1220{V2}"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "magnet:",
        "magnet:?dn=Show",
        f"magnet:?xt=urn:sha1:{HEX}",
        f"magnet:?xt=urn:btih:{HEX[:-2]}",
        f"https://example.org/?xt=urn:btih:{HEX}",
        f"magnet:?xt=urn:btih:{HEX}&dn=" + "x" * LONGEST,
    ],
)
def test_what_is_no_magnet_link_is_none(text: str) -> None:
    assert parse_magnet(text) is None


def test_a_name_shows_no_controls() -> None:
    found = parse_magnet(f"magnet:?xt=urn:btih:{HEX}&dn=a%00b%0a%E2%80%AEc<b>")
    assert found is not None
    assert found.name == "a b c<b>"


def test_trackers_are_bounded_and_named_once() -> None:
    many = "&".join(f"tr=http://t{number}.example/a" for number in range(200))
    found = parse_magnet(f"magnet:?xt=urn:btih:{HEX}&tr=http://t0.example/a&{many}")
    assert found is not None
    assert len(found.trackers) == MOST_TRACKERS
    assert found.trackers[:2] == ("http://t0.example/a", "http://t1.example/a")


@settings(deadline=None)
@given(st.text(max_size=300))
def test_whatever_is_written_is_read_or_not_but_never_fails(text: str) -> None:
    found = parse_magnet(f"magnet:?xt=urn:btih:{HEX}&{text}")
    assert found is None or parse_magnet(found.uri) == found
