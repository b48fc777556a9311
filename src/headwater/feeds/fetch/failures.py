"""Failures of visits: for each code, whose fault it is and one sentence about it."""

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
    # Documents that are no feed
    "not_a_feed": "theirs",
    "parse_error": "theirs",
    # No document may harm a parser, so when one does, the fault is the parser's
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
    """A code that is not in the table counts as our fault: it is a mistake of ours."""
    return FAULTS.get(code, "ours")


def codes_of(fault: Fault) -> tuple[str, ...]:
    return tuple(sorted(code for code, fault_of_code in FAULTS.items() if fault_of_code == fault))


FAILURE_TEXTS: dict[str, str] = {
    # Before and while connecting
    "bad_url": "The URL cannot be fetched as it is written.",
    "blocked_address": "The URL leads to an address or port that feeds may not reach.",
    "dns_error": "The host name could not be resolved.",
    "connect_error": "The host did not accept a connection.",
    "tls_error": "The secure connection failed: bad certificate, name or protocol.",
    "timeout": "The answer did not come in time.",
    "secret_unreadable": "The credentials of this feed do not open with the key that is set.",
    # HTTP itself
    "bad_http": "The host did not answer in proper HTTP.",
    "headers_too_large": "The answer's headers are larger than the limits allow.",
    "too_many_interim": "The host sent too many interim (1xx) answers.",
    "connection_lost": "The connection broke before an answer came.",
    "incomplete_body": "The connection ended before the whole document came.",
    "body_too_large": "The document is larger than the limit.",
    "network_error": "The request failed in the network layer.",
    # Redirects
    "too_many_redirects": "The URL redirects in a loop or too many times.",
    "bad_redirect": "The URL redirects to something that is no http or https URL.",
    # Statuses
    "unexpected_304": "The host said 'not modified' although nothing to compare was sent.",
    "unexpected_status": "The host answered with a status that makes no sense here.",
    "empty_body": "The host answered with success but sent no document.",
    "unaccepted_type": "The document's content type is not on the list of accepted types.",
    "http_400": "The host calls the request bad (400).",
    "http_401": "The host asks for a login (401).",
    "http_403": "The host refuses access (403).",
    "http_404": "Nothing is found at this URL (404).",
    "http_4xx": "The host refuses the request (another 4xx status).",
    "http_500": "The host has an internal error (500).",
    "http_502": "A gateway in front of the host got no good answer (502).",
    "http_504": "A gateway in front of the host waited too long (504).",
    "http_5xx": "The host has trouble of its own (another 5xx status).",
    # Content codings
    "bad_coding": "The document is damaged, or not compressed the way its label says.",
    "unsupported_coding": "The document is compressed in a way we did not ask for.",
    "too_many_codings": "The document is compressed more than once.",
    # Visits that a registered fetcher made
    "fetcher_error": "The fetcher of this source had trouble of its own.",
}


def status_code_name(status: int) -> str:
    """`http_404` and the like for statuses that people know, else `http_4xx` or `http_5xx`."""
    exact = f"http_{status}"
    if exact in FAILURE_TEXTS:
        return exact
    return f"http_{status // 100}xx" if 400 <= status < 600 else "unexpected_status"
