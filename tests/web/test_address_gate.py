"""Which connections the gate lets through."""

from ipaddress import ip_address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.core.errors import BadSettings, BadUrl, BlockedAddress
from headwater.web.address_gate import (
    ORDINARY_PORTS,
    AddressPolicy,
    blocked_reason,
    build_address_policy,
    check_url,
    is_numeric,
    parse_allow_rule,
)

OPEN = AddressPolicy()


@pytest.mark.parametrize(
    ("address", "kind"),
    [
        ("127.0.0.1", "loopback"),
        ("127.255.255.254", "loopback"),
        ("0.0.0.0", "this host"),
        ("169.254.169.254", "link-local"),
        ("fd00:ec2::254", "private"),
        ("100.100.100.200", "carrier-grade NAT"),
        ("168.63.129.16", "cloud metadata"),
        ("192.0.0.192", "reserved"),
        ("::ffff:127.0.0.1", "loopback"),
        ("::ffff:a9fe:a9fe", "link-local"),
        ("::127.0.0.1", "IPv4-compatible"),
        ("::8.8.8.8", "IPv4-compatible"),
        ("::ffff:0:127.0.0.1", "translated IPv4"),
        ("::ffff:0:8.8.8.8", "translated IPv4"),
        ("64:ff9b::a9fe:a9fe", "link-local"),
        ("64:ff9b::10.0.0.1", "private"),
        ("64:ff9b:1::7f00:1", "local NAT64"),
        ("100.64.0.1", "carrier-grade NAT"),
        ("192.88.99.1", "6to4 relay"),
        ("198.18.0.1", "benchmarking"),
        ("198.19.255.255", "benchmarking"),
        ("240.0.0.1", "reserved"),
        ("255.255.255.255", "reserved"),
        ("224.0.0.1", "multicast"),
        ("239.255.255.255", "multicast"),
        ("ff02::1", "multicast"),
        ("ff0e::1", "multicast"),
        ("fec0::1", "site-local"),
        ("3fff::1", "documentation"),
        ("2001:db8::1", "documentation"),
        ("192.0.2.1", "documentation"),
        ("198.51.100.1", "documentation"),
        ("203.0.113.1", "documentation"),
        ("10.0.0.1", "private"),
        ("172.16.0.1", "private"),
        ("172.31.255.255", "private"),
        ("192.168.1.1", "private"),
        ("::1", "loopback"),
        ("::", "this host"),
        ("fe80::1", "link-local"),
        ("fe80::1%eth0", "link-local"),
        ("fc00::1", "private"),
        ("2002:7f00:1::", "6to4"),
        ("2001::1", "reserved"),
        ("2001:20::1", "reserved"),
        ("2001:1ff:ffff::1", "reserved"),
        ("4000::1", "reserved"),
        ("100::1", "reserved"),
    ],
)
def test_addresses_that_are_not_public_are_blocked(address: str, kind: str) -> None:
    reason = blocked_reason(address, 80, "feeds.example", OPEN)
    assert reason is not None
    assert f"not a public address ({kind})" in reason


@pytest.mark.parametrize(
    "address",
    [
        "93.184.216.34",
        "8.8.8.8",
        "1.1.1.1",
        "172.32.0.1",
        "100.128.0.1",
        "192.0.1.1",
        "223.255.255.255",
        "2606:2800:220:1:248:1893:25c8:1946",
        "2a00:1450:4001::1",
        "2001:200::1",
        "64:ff9b::8.8.8.8",
        "::ffff:8.8.8.8",
    ],
)
def test_public_addresses_are_open_on_ordinary_ports(address: str) -> None:
    assert blocked_reason(address, 443, "feeds.example", OPEN) is None


def test_a_rule_may_name_the_address_as_it_is_dialled_or_the_one_it_reaches() -> None:
    for rule in ("64:ff9b::/96", "10.0.0.0/8"):
        opened = build_address_policy([rule])
        assert blocked_reason("64:ff9b::10.0.0.1", 80, "feeds.example", opened) is None
        assert blocked_reason("192.168.0.1", 80, "feeds.example", opened) is not None


def test_what_is_no_address_is_blocked() -> None:
    assert blocked_reason("/run/docker.sock", 80, "x", OPEN) == (
        "'/run/docker.sock' is not an IP address"
    )


@given(st.ip_addresses(v=4))
def test_wrapping_an_ipv4_address_never_opens_it(address: object) -> None:
    plain = blocked_reason(str(address), 80, "x", OPEN)
    for wrapped in (f"::ffff:{address}", f"64:ff9b::{address}"):
        assert (blocked_reason(wrapped, 80, "x", OPEN) is None) == (plain is None)
    for never in (f"::{address}", f"::ffff:0:{address}", f"64:ff9b:1::{address}"):
        assert blocked_reason(never, 80, "x", OPEN) is not None


@pytest.mark.parametrize("port", [22, 25, 6379, 5432, 11211, 0, 65535])
def test_extraordinary_ports_are_closed(port: int) -> None:
    assert blocked_reason("8.8.8.8", port, "x", OPEN) == f"port {port} is not open to feeds"


def test_an_allow_rule_opens_one_host_and_port_only() -> None:
    policy = build_address_policy(["10.0.0.5:8080"])
    assert blocked_reason("10.0.0.5", 8080, "10.0.0.5", policy) is None
    assert blocked_reason("10.0.0.5", 22, "10.0.0.5", policy) is not None
    assert blocked_reason("10.0.0.5", 80, "10.0.0.5", policy) is not None
    assert blocked_reason("10.0.0.6", 8080, "10.0.0.6", policy) is not None


def test_an_allowed_network_is_open_on_every_port() -> None:
    policy = build_address_policy(["127.0.0.0/8"])
    assert blocked_reason("127.3.2.1", 40123, "x", policy) is None
    assert blocked_reason("::ffff:127.3.2.1", 40123, "x", policy) is None
    assert blocked_reason("10.0.0.1", 40123, "x", policy) is not None


def test_an_allowed_network_may_be_bound_to_a_port() -> None:
    policy = build_address_policy(["10.0.0.0/8:8080", "[fd00::/8]:8080"])
    assert blocked_reason("10.1.2.3", 8080, "x", policy) is None
    assert blocked_reason("fd00::1", 8080, "x", policy) is None
    assert blocked_reason("10.1.2.3", 80, "x", policy) is not None
    assert blocked_reason("fd00::1", 80, "x", policy) is not None


def test_an_allowed_name_is_open_wherever_it_leads() -> None:
    policy = build_address_policy(["Intranet.Example:8080"])
    assert blocked_reason("10.0.0.1", 8080, "intranet.example", policy) is None
    assert blocked_reason("10.0.0.1", 8080, "other.example", policy) is not None
    assert blocked_reason("10.0.0.1", 80, "intranet.example", policy) is not None


@pytest.mark.parametrize("rule", ["[::1]:8080", "::1", "::1/128", "[::1/128]", "[::1/128]:8080"])
def test_ipv6_rules_can_be_written_in_several_ways(rule: str) -> None:
    assert parse_allow_rule(rule).network is not None
    assert blocked_reason("::1", 8080, "x", build_address_policy([rule])) is None


@pytest.mark.parametrize(
    "rule",
    [
        "",
        "localhost",
        "10.0.0.5/8",
        "10.0.0.0/33",
        "10.0.0.5:0",
        "10.0.0.5:65536",
        "host:port",
        "http://host:80",
        "a b:80",
        "[::1",
        "*",
    ],
)
def test_a_rule_that_cannot_be_read_is_named(rule: str) -> None:
    with pytest.raises(BadSettings) as refusal:
        build_address_policy([rule])
    assert repr(rule) in refusal.value.message
    assert refusal.value.message.startswith("allow_addresses: ")


def test_bad_ports_and_hosts_in_settings_are_named() -> None:
    with pytest.raises(BadSettings, match="70000 is not a port"):
        build_address_policy(ports=[80, 70000])
    with pytest.raises(BadSettings, match="egress_deny_hosts: 'not a host' is not a host name"):
        build_address_policy(denied_hosts=["not a host"])


@pytest.mark.parametrize(
    "entry", ["evil.example:443", "https://evil.example/", "http://evil.example", "[::1]:80", ":"]
)
def test_a_host_with_a_scheme_or_a_port_is_refused_as_it_would_never_fit(entry: str) -> None:
    with pytest.raises(BadSettings, match="egress_deny_hosts"):
        build_address_policy(denied_hosts=[entry])
    with pytest.raises(BadSettings, match="egress_allow_hosts"):
        build_address_policy(only_hosts=[entry])


@pytest.mark.parametrize("entry", ["[2606:4700::1]", "2606:4700:0::0001", "2606:4700::1"])
def test_a_denied_host_may_be_an_address(entry: str) -> None:
    policy = build_address_policy(denied_hosts=[entry])
    with pytest.raises(BlockedAddress, match="list of denied hosts"):
        check_url("http://[2606:4700::1]/feed.xml", policy)


def test_denied_hosts_cover_what_is_under_them() -> None:
    policy = build_address_policy(["evil.example:80"], denied_hosts=["*.evil.example"])
    for host in ("evil.example", "a.b.evil.example"):
        assert blocked_reason("8.8.8.8", 80, host, policy) is not None
    assert blocked_reason("8.8.8.8", 80, "notevil.example", policy) is None


def test_when_only_some_hosts_are_allowed_the_others_are_not() -> None:
    policy = build_address_policy(only_hosts=["good.example"])
    assert blocked_reason("8.8.8.8", 80, "www.good.example", policy) is None
    assert blocked_reason("8.8.8.8", 80, "other.example", policy) is not None
    with pytest.raises(BlockedAddress, match="not on the list of allowed hosts"):
        check_url("https://other.example/", policy)


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1/",
        "http://localhost/",
        "http://localhost./",
        "http://feeds.localhost/",
        "http://ip6-localhost/",
        "http://169.254.169.254/latest/meta-data/",
        "http://[fd00:ec2::254]/",
        "http://168.63.129.16/",
        "http://2130706433/",
        "http://0x7f000001/",
        "http://0177.0.0.1/",
        "http://127.1/",
        "http://017700000001/",
        "http://127.0.0.01/",
        "http://[::ffff:127.0.0.1]/",
        "http://[::127.0.0.1]/",
        "http://[64:ff9b::a9fe:a9fe]/",
        "http://①②⑦.⓪.⓪.①/",
        "http://127。0。0。1/",
        "http://ⓛocalhost/",
        "http://feeds.example:22/",
        "http://feeds.example:0/",
    ],
)
def test_a_url_is_refused_before_anything_is_sent(url: str) -> None:
    with pytest.raises(BlockedAddress):
        check_url(url, OPEN)


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:80@example.com/",
        "http://a@b@127.0.0.1/",
        "http://127.0.0.1%2f@example.com/",
        "file:///etc/passwd",
        "gopher://127.0.0.1:70/",
        "http+unix://%2Frun%2Fdocker.sock/",
        "http://localhost%00.example.com/",
        "http://example.com:99999/",
    ],
)
def test_a_url_no_one_may_ask_for_is_refused(url: str) -> None:
    with pytest.raises(BadUrl):
        check_url(url, OPEN)


def test_a_good_url_passes_and_tells_its_parts() -> None:
    parts = check_url("https://feeds.example:8443/x", OPEN)
    assert (parts.scheme, parts.host, parts.port) == ("https", "feeds.example", 8443)


def test_a_name_that_may_lead_into_an_allowed_network_is_left_to_the_socket() -> None:
    policy = build_address_policy(["127.0.0.0/8:9000"])
    assert check_url("http://localhost:9000/", policy).port == 9000
    with pytest.raises(BlockedAddress):
        check_url("http://localhost:9001/", policy)


def test_secrets_do_not_get_into_the_refusal() -> None:
    with pytest.raises(BlockedAddress) as refusal:
        check_url("http://127.0.0.1/?token=hunter2", OPEN)
    assert "hunter2" not in str(refusal.value)


def test_the_ordinary_ports_are_those_of_the_web() -> None:
    assert {80, 443, 8080, 8443} <= ORDINARY_PORTS
    assert not {21, 22, 23, 25, 110, 143, 3306, 5432, 6379, 9200, 11211, 27017} & ORDINARY_PORTS


def test_what_one_policy_found_out_does_not_count_for_another() -> None:
    closed, opened = AddressPolicy(), build_address_policy(["127.0.0.0/8"])
    for _ in range(2):
        assert blocked_reason("127.0.0.9", 80, "127.0.0.9", opened) is None
        assert check_url("http://127.0.0.9/feed", opened).host == "127.0.0.9"
        assert (
            blocked_reason("127.0.0.9", 80, "127.0.0.9", closed)
            == "127.0.0.9 is not a public address (loopback)"
        )
        with pytest.raises(BlockedAddress):
            check_url("http://127.0.0.9/feed", closed)


def test_the_same_address_under_another_name_or_port_is_looked_at_anew() -> None:
    policy = build_address_policy(["good.example:8125"])
    assert blocked_reason("10.0.0.5", 8125, "good.example", policy) is None
    assert blocked_reason("10.0.0.5", 8125, "bad.example", policy) is not None
    assert blocked_reason("10.0.0.5", 8126, "good.example", policy) is not None
    assert blocked_reason("10.0.0.5", 8125, "good.example", policy) is None


_PIECE = st.one_of(
    st.integers(0, 300).map(str),
    st.sampled_from(["", "00", "01", "0x7f", "+1", "1 ", "\u0661", "1\n"]),
)


@given(st.lists(_PIECE, min_size=3, max_size=5).map(".".join))
def test_an_address_is_read_as_the_standard_library_reads_it(text: str) -> None:
    try:
        expected: str | None = str(ip_address(text))
    except ValueError:
        expected = None
    assert is_numeric(text) == (expected is not None)
    reason = blocked_reason(text, 80, text, AddressPolicy(ports=frozenset()))
    assert reason is not None
    if expected is None:
        assert reason == f"{text!r} is not an IP address"
    else:
        assert reason.startswith((f"{expected} is not a public address", "port 80 is not open"))
