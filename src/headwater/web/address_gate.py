"""The address gate: requests go to public addresses and ordinary ports, or where settings allow."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from ipaddress import (
    IPv4Address,
    IPv4Network,
    IPv6Address,
    IPv6Network,
    ip_address,
    ip_network,
)

from headwater.core.errors import BadSettings, BadUrl, BlockedAddress
from headwater.core.values.url import OCTET, UrlParts, parts_of, redacted

IpAddress = IPv4Address | IPv6Address
IpNetwork = IPv4Network | IPv6Network

ORDINARY_PORTS = frozenset({80, 81, 443, 591, 8000, 8008, 8080, 8081, 8088, 8090, 8443, 8888})

_CACHED_ANSWERS = 4096
"""Cached answers of each kind. One visit asks about one address several times, and so does the
next; a refused URL is checked anew each time."""

_Ranges = tuple[tuple[int, int, str], ...]


def _ranges(blocked: Iterable[tuple[str, str]]) -> _Ranges:
    """First and last address as numbers: to compare these is ten times faster than networks."""
    networks = ((ip_network(text), kind) for text, kind in blocked)
    return tuple((int(n.network_address), int(n.broadcast_address), kind) for n, kind in networks)


# Explicit tables: `ipaddress.is_global` of Python 3.11 calls several of these public.
_BLOCKED_V4 = _ranges(
    (
        ("0.0.0.0/8", "this host"),
        ("10.0.0.0/8", "private"),
        ("100.64.0.0/10", "carrier-grade NAT"),
        ("127.0.0.0/8", "loopback"),
        ("168.63.129.16/32", "cloud metadata"),
        ("169.254.0.0/16", "link-local"),
        ("172.16.0.0/12", "private"),
        ("192.0.0.0/24", "reserved"),
        ("192.0.2.0/24", "documentation"),
        ("192.88.99.0/24", "6to4 relay"),
        ("192.168.0.0/16", "private"),
        ("198.18.0.0/15", "benchmarking"),
        ("198.51.100.0/24", "documentation"),
        ("203.0.113.0/24", "documentation"),
        ("224.0.0.0/4", "multicast"),
        ("240.0.0.0/4", "reserved"),
    )
)
_BLOCKED_V6 = _ranges(
    (
        ("2001::/23", "reserved"),
        ("2001:db8::/32", "documentation"),
        ("2002::/16", "6to4"),
        ("3ffe::/16", "6bone"),
        ("3fff::/20", "documentation"),
    )
)
_OTHER_V6 = _ranges(
    (
        ("::1/128", "loopback"),
        ("::/128", "this host"),
        ("::/96", "IPv4-compatible"),
        ("::ffff:0:0:0/96", "translated IPv4"),
        ("64:ff9b:1::/48", "local NAT64"),
        ("fc00::/7", "private"),
        ("fe80::/10", "link-local"),
        ("fec0::/10", "site-local"),
        ("ff00::/8", "multicast"),
    )
)
_PUBLIC_V6 = IPv6Network("2000::/3")
_NAT64 = IPv6Network("64:ff9b::/96")
_LOCAL_NAMES = frozenset(
    {"localhost", "localhost.localdomain", "ip6-localhost", "ip6-loopback", "broadcasthost"}
)

_HOST_RULE = re.compile(r"(?P<host>[^\s:/\[\]]+|\[[0-9A-Fa-f:.]+\]):(?P<port>[0-9]{1,5})")
_NETWORK_RULE = re.compile(r"(?P<network>[0-9.]+(?:/[0-9]{1,2})?)(?::(?P<port>[0-9]{1,5}))?")
_NETWORK6_RULE = re.compile(r"\[(?P<network>[0-9A-Fa-f:.]+/[0-9]{1,3})\](?::(?P<port>[0-9]{1,5}))?")
_BARE6_RULE = re.compile(r"(?P<network>[0-9A-Fa-f:.]*:[0-9A-Fa-f:.]*(?:/[0-9]{1,3})?)")
_QUAD = re.compile(rf"(?:{OCTET}\.){{3}}{OCTET}")
_HOST_NAME = re.compile(r"[a-z0-9_](?:[a-z0-9_.-]*[a-z0-9_])?")


@dataclass(frozen=True, slots=True)
class AllowRule:
    """A host or a network that the operator opened, at one port, or at any when `port` is None."""

    host: str | None
    network: IpNetwork | None
    port: int | None

    def opens(self, host: str, port: int, address: IpAddress | None) -> bool:
        if self.port is not None and self.port != port:
            return False
        if self.host is not None and self.host == host:
            return True
        return self.network is not None and address is not None and address in self.network


@dataclass(frozen=True, slots=True, eq=False)
class AddressPolicy:
    """The rules of the gate. The host lists cover a name and everything under it.

    An allow rule opens an address or port that is otherwise blocked. `only_hosts`, when not
    empty, and `denied_hosts` are stronger than any allow rule.

    A policy is equal only to itself: answers are cached under that object, and to compare all
    its rules would take longer than to find an answer again.
    """

    allow: tuple[AllowRule, ...] = ()
    ports: frozenset[int] = ORDINARY_PORTS
    only_hosts: tuple[str, ...] = ()
    denied_hosts: tuple[str, ...] = ()


def build_address_policy(
    allow: Iterable[str] = (),
    *,
    ports: Iterable[int] = ORDINARY_PORTS,
    only_hosts: Iterable[str] = (),
    denied_hosts: Iterable[str] = (),
) -> AddressPolicy:
    """Build the policy of the operator's settings; BadSettings names an entry that is wrong."""
    return AddressPolicy(
        allow=tuple(parse_allow_rule(text) for text in allow),
        ports=frozenset(_check_port("allowed_ports", str(port), port) for port in ports),
        only_hosts=tuple(_host_pattern("egress_allow_hosts", text) for text in only_hosts),
        denied_hosts=tuple(_host_pattern("egress_deny_hosts", text) for text in denied_hosts),
    )


def parse_allow_rule(text: str) -> AllowRule:
    """`host:port`, `10.0.0.0/8`, `10.0.0.0/8:8080`, `[fd00::/8]:8080`, `fd00::/8`, `[::1]:8080`."""
    rule = text.strip()
    for pattern in (_NETWORK_RULE, _NETWORK6_RULE, _BARE6_RULE):
        if match := pattern.fullmatch(rule):
            return AllowRule(None, _network(match["network"], text), _rule_port(match, text))
    if match := _HOST_RULE.fullmatch(rule):
        port = _rule_port(match, text)
        if match["host"].startswith("["):
            return AllowRule(None, _network(match["host"][1:-1], text), port)
        return AllowRule(match["host"].lower().rstrip("."), None, port)
    raise BadSettings(
        f"allow_addresses: {text!r} is none of host:port, network and network:port.",
        entry=text,
    )


@lru_cache(maxsize=_CACHED_ANSWERS)
def blocked_reason(address: str, port: int, host: str, policy: AddressPolicy) -> str | None:
    """The reason why this connection may not be made, or None. `address` is the one dialled."""
    numeric = _parse_address(address)
    if numeric is None:
        return f"{address!r} is not an IP address"
    unwrapped = _reached_address(numeric)
    if reason := _host_refusal(host, policy):
        return reason
    for rule in policy.allow:
        if rule.opens(host, port, numeric) or rule.opens(host, port, unwrapped):
            return None
    if kind := _blocked_kind(unwrapped):
        return f"{numeric} is not a public address ({kind})"
    return None if port in policy.ports else f"port {port} is not open to feeds"


@lru_cache(maxsize=_CACHED_ANSWERS)
def check_url(url: str, policy: AddressPolicy) -> UrlParts:
    """Refuse a URL, before anything is sent, when the URL alone is reason enough."""
    parts = parts_of(url)
    if parts.has_userinfo:
        raise BadUrl("The URL has a user name or password in it.", url=redacted(url))
    reason = _url_refusal(parts, policy)
    if reason is not None:
        raise BlockedAddress(f"{redacted(url)} may not be fetched: {reason}.", reason=reason)
    return parts


def _url_refusal(parts: UrlParts, policy: AddressPolicy) -> str | None:
    host, port = parts.host, parts.port
    if parts.is_literal:
        return blocked_reason(host, port, host, policy)
    if reason := _host_refusal(host, policy):
        return reason
    if any(rule.opens(host, port, None) for rule in policy.allow):
        return None
    # The name may lead into an allowed network: its address decides, when the socket is made.
    if any(rule.network is not None and rule.port in (None, port) for rule in policy.allow):
        return None
    if host in _LOCAL_NAMES or host.endswith(".localhost"):
        return f"{host} is this machine"
    return None if port in policy.ports else f"port {port} is not open to feeds"


def _host_refusal(host: str, policy: AddressPolicy) -> str | None:
    if policy.denied_hosts and _is_under(host, policy.denied_hosts):
        return f"{host} is on the list of denied hosts"
    if policy.only_hosts and not _is_under(host, policy.only_hosts):
        return f"{host} is not on the list of allowed hosts"
    return None


def _is_under(host: str, patterns: tuple[str, ...]) -> bool:
    return any(host == pattern or host.endswith("." + pattern) for pattern in patterns)


def is_numeric(host: str) -> bool:
    """Whether the host is an IP address and no name."""
    return _parse_address(host) is not None


@lru_cache(maxsize=_CACHED_ANSWERS)
def _parse_address(address: str) -> IpAddress | None:
    if _QUAD.fullmatch(address):  # this spelling has one meaning, and is fast to parse
        return IPv4Address(bytes(map(int, address.split("."))))
    try:
        return ip_address(address.partition("%")[0])
    except ValueError:
        return None


def _reached_address(address: IpAddress) -> IpAddress:
    """The IPv4 address that a mapped or NAT64 address really reaches."""
    if isinstance(address, IPv6Address):
        if address.ipv4_mapped is not None:
            return address.ipv4_mapped
        if address in _NAT64:
            return IPv4Address(int(address) & 0xFFFFFFFF)
    return address


def _blocked_kind(address: IpAddress) -> str | None:
    number = int(address)
    if isinstance(address, IPv4Address):
        return _kind_in(_BLOCKED_V4, number)
    if address in _PUBLIC_V6:
        return _kind_in(_BLOCKED_V6, number)
    return _kind_in(_OTHER_V6, number) or "reserved"


def _kind_in(ranges: _Ranges, number: int) -> str | None:
    for first, last, kind in ranges:
        if first <= number <= last:
            return kind
    return None


def _network(text: str, entry: str) -> IpNetwork:
    try:
        return ip_network(text)
    except ValueError as trouble:
        raise BadSettings(
            f"allow_addresses: {entry!r} is not a network: {trouble}.", entry=entry
        ) from trouble


def _rule_port(match: re.Match[str], entry: str) -> int | None:
    text = match.groupdict().get("port")
    return None if text is None else _check_port("allow_addresses", entry, int(text))


def _check_port(setting: str, entry: str, port: int) -> int:
    if not 1 <= port <= 65535:
        raise BadSettings(f"{setting}: {entry!r}: {port} is not a port.", entry=entry)
    return port


def _host_pattern(setting: str, text: str) -> str:
    """Refuse a port or a whole URL: no host has such a name, so the rule would have no effect."""
    name = text.strip().lower().removeprefix("*.").strip(".")
    if _HOST_NAME.fullmatch(name):
        return name
    try:
        return str(IPv6Address(name.removeprefix("[").removesuffix("]")))
    except ValueError as trouble:
        raise BadSettings(
            f"{setting}: {text!r} is not a host name (without scheme, port and path).", entry=text
        ) from trouble
