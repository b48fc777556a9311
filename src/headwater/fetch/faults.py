"""Whose fault a failed visit is, for every code that one can carry."""

from typing import Literal

Fault = Literal["ours", "theirs", "network"]
"""`ours`: Headwater, its machine, or a fetcher that works for it. `theirs`: the publisher, its
server, or the URL. `network`: between the two, where nobody can tell from one failure alone."""

FAULTS: dict[str, Fault] = {
    # Before and while connecting
    "bad_url": "theirs",
    "blocked_address": "theirs",
    "dns_error": "network",
    "connect_error": "network",
    "tls_error": "theirs",
    "timeout": "network",
    "secret_unreadable": "ours",
    # HTTP itself
    "bad_http": "theirs",
    "headers_too_large": "theirs",
    "too_many_interim": "theirs",
    "connection_lost": "network",
    "incomplete_body": "network",
    "body_too_large": "theirs",
    "network_error": "network",
    # Redirects
    "too_many_redirects": "theirs",
    "bad_redirect": "theirs",
    # Statuses
    "unexpected_304": "theirs",
    "unexpected_status": "theirs",
    "empty_body": "theirs",
    "unaccepted_type": "theirs",
    "http_400": "theirs",
    "http_401": "theirs",
    "http_403": "theirs",
    "http_404": "theirs",
    "http_410": "theirs",
    "http_429": "theirs",
    "http_4xx": "theirs",
    "http_500": "theirs",
    "http_502": "theirs",
    "http_503": "theirs",
    "http_504": "theirs",
    "http_5xx": "theirs",
    # Content codings
    "bad_coding": "theirs",
    "unsupported_coding": "theirs",
    "too_many_codings": "theirs",
    # What the document turned out to be
    "not_a_feed": "theirs",
    "parse_error": "theirs",
    # No document may harm a parser, so where one did, the parser is to blame
    "quarantined": "ours",
    "parser_crashed": "ours",
    "parser_timeout": "ours",
    "parser_memory": "ours",
    "parser_unavailable": "ours",
    "internal_error": "ours",
    # Visits that a registered fetcher made
    "fetcher_error": "ours",
}


def fault_of(code: str) -> Fault:
    """A code that is not in the table is a mistake of ours, and counts as one."""
    return FAULTS.get(code, "ours")


def codes_of(fault: Fault) -> tuple[str, ...]:
    return tuple(sorted(code for code, whose in FAULTS.items() if whose == fault))
