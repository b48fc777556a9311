"""libcurl's error numbers in our own words."""

import pycurl

_TOO_LARGE = 100  # CURLE_TOO_LARGE, which pycurl does not name
_HTTP2_STREAM = 92
_HTTP3 = 95
_QUIC_CONNECT = 96

_CODES: dict[int, str] = {
    pycurl.E_COULDNT_RESOLVE_HOST: "dns_error",
    pycurl.E_COULDNT_CONNECT: "connect_error",
    _QUIC_CONNECT: "connect_error",
    pycurl.E_OPERATION_TIMEDOUT: "timeout",
    pycurl.E_PARTIAL_FILE: "incomplete_body",
    pycurl.E_FILESIZE_EXCEEDED: "body_too_large",
    pycurl.E_GOT_NOTHING: "connection_lost",
    pycurl.E_RECV_ERROR: "connection_lost",
    pycurl.E_SEND_ERROR: "connection_lost",
    pycurl.E_FTP_WEIRD_SERVER_REPLY: "bad_http",
    pycurl.E_UNSUPPORTED_PROTOCOL: "bad_http",
    pycurl.E_HTTP2: "bad_http",
    _HTTP2_STREAM: "bad_http",
    _HTTP3: "bad_http",
    _TOO_LARGE: "headers_too_large",
    pycurl.E_URL_MALFORMAT: "bad_url",
    pycurl.E_SSL_CONNECT_ERROR: "tls_error",
    pycurl.E_PEER_FAILED_VERIFICATION: "tls_error",
    pycurl.E_SSL_CACERT: "tls_error",
    pycurl.E_SSL_CERTPROBLEM: "tls_error",
    pycurl.E_SSL_CIPHER: "tls_error",
    pycurl.E_SSL_CACERT_BADFILE: "tls_error",
    pycurl.E_SSL_CRL_BADFILE: "tls_error",
    pycurl.E_SSL_ISSUER_ERROR: "tls_error",
    pycurl.E_SSL_INVALIDCERTSTATUS: "tls_error",
    pycurl.E_SSL_SHUTDOWN_FAILED: "tls_error",
}
_LOST_MIDWAY = frozenset({"connection_lost", "bad_http"})


def trouble_code(number: int, *, has_status: bool) -> str:
    """Our code for a libcurl error; once the headers came, what is missing is the body."""
    code = _CODES.get(number, "network_error")
    return "incomplete_body" if has_status and code in _LOST_MIDWAY else code
