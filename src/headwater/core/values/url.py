"""URLs, read by one parser: to request, to compare and to log."""

import re
from functools import lru_cache
from hashlib import sha256
from typing import NamedTuple
from urllib.parse import unquote

from ada_url import URL

from headwater.core.errors import BadUrl

LONGEST_URL = 4096
SHARDS = 1024
REDACTED = "REDACTED"

_AROUND = " \t\r\n\u00a0\ufeff"
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):")
_HTTP = re.compile(r"https?://(?=[^/\\?#])([^/\\?#]*)", re.IGNORECASE)
_FEED = re.compile(r"feed:(?://(?!/)(?!https?:)|(?://)?(?=https?:))", re.IGNORECASE)
_SENT_UNCHANGED = re.compile(r"[!-~]*")
# For the parser's own spelling alone, where these parts are unambiguous. Asking the parser for
# each part takes more than twice the time of the parsing.
_SPELT = re.compile(
    r"(https?)://(?:([^/?#@]*)@)?(\[[^\]/?#]*\]|[^:/?#@\[\]]*)(?::(\d+))?(?=[/?#]|$)"
)

# A reference that no parser would change: without the parser each link of a feed costs 2 µs less.
_NAME = r"(?:[a-z0-9-]++\.)++[a-z]{2,}+"
_REST = r"/[A-Za-z0-9_~=,./-]*+(?:\?[A-Za-z0-9_~=&,./%+-]*+)?"
_PLAIN = re.compile(rf"https?://{_NAME}{_REST}")
OCTET = r"(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])"
_PLAIN_PLACE = re.compile(
    rf"(https?)://(?:({_NAME})|((?:{OCTET}\.){{3}}{OCTET}))(?::([1-9][0-9]{{1,3}}))?{_REST}"
)
_USUAL_PORTS = {"http": 80, "https": 443}

_USERINFO = re.compile(r"^([a-z][a-z0-9+.-]*:)?//[^/?#\\]*@", re.IGNORECASE)
_PAIR = re.compile(r"([?&;#])([^=&;#?]*)=([^&;#]+)")
_SECRET_NAME = re.compile(
    r"token|secret|passw|passkey|passphrase|api.?key|signature|credential|jwt"
    r"|(?:^|[^a-z])(?:sig|pass|pwd|sid|auth|session)(?:$|[^a-z])|(?:key|auth|session(?:.?id)?)$",
    re.IGNORECASE,
)


class UrlParts(NamedTuple):
    """The parts of a URL. `host` is without brackets and without a trailing dot.

    `target` is the URL to hand on: it is the parser's own spelling, so that no second parser can
    read it in another way.
    """

    target: str
    scheme: str
    host: str
    port: int
    origin: str
    is_literal: bool
    has_userinfo: bool


def check_source_url(text: str) -> str:
    """Return the URL to request for the text that a person typed; BadUrl when there is none."""
    if len(text) > LONGEST_URL:
        raise BadUrl(f"The URL is longer than {LONGEST_URL} characters.", length=len(text))
    stripped = text.strip(_AROUND)
    if _CONTROL.search(stripped):
        raise BadUrl("The URL has a control character in it.")
    typed = without_feed_scheme(stripped)
    authority = _authority_of(typed)
    if "@" in authority:
        raise BadUrl("The URL has a user name or password in it; these are not accepted.")
    url = _parsed(typed)
    if url is None:
        raise BadUrl("The URL's host or port is not valid.", authority=authority[:100])
    _check_host(url.hostname)
    source = _with_query_unchanged(_without_fragment(url), typed)
    if len(source) > LONGEST_URL:
        raise BadUrl(f"Once encoded, the URL is longer than {LONGEST_URL} characters.")
    return source


def without_feed_scheme(text: str) -> str:
    """`feed:https://…` and `feed://https://…` carry a URL; `feed://host/…` means http."""
    prefix = _FEED.match(text)
    if prefix is None:
        return text
    rest = text[prefix.end() :]
    carries_url = rest.lower().startswith(("http:", "https:"))
    return rest if carries_url or not prefix[0].endswith("//") else f"http://{rest}"


def canonical(url: str) -> str | None:
    """Return one spelling for all spellings of an http(s) URL: to compare it, never to fetch it."""
    if _is_plain(url):
        return url
    parsed = _parsed(url)
    if parsed is None or parsed.protocol not in ("http:", "https:"):
        return None
    return _without_fragment(parsed)


def resolve(base: str | None, reference: str) -> str | None:
    """Return the absolute URL (of any scheme) of a reference, or None; None for a blank one."""
    if _is_plain(reference):
        return reference
    if not reference.strip():
        return None
    parsed = _parsed(reference, base) if base else _parsed(reference)
    if parsed is None and base:
        parsed = _parsed(reference)
    return None if parsed is None else parsed.href


@lru_cache(maxsize=4096)
def parts_of(url: str) -> UrlParts:
    """Return the parts of an absolute http(s) URL; BadUrl when it is none."""
    return plain_parts(url) or parsed_parts(url)


def plain_parts(url: str) -> UrlParts | None:
    """`parts_of` for a URL that the parser would leave as it is, in a fifth of the time."""
    match = _PLAIN_PLACE.fullmatch(url)
    if match is None or "/." in url or "xn--" in url:
        return None
    scheme, name, address, digits = match.groups()
    usual = _USUAL_PORTS[scheme]
    port, host = int(digits) if digits else usual, name or address
    if digits and port == usual:
        return None
    origin = f"{scheme}://{host}:{digits}" if digits else f"{scheme}://{host}"
    return UrlParts(url, scheme, host, port, origin, name is None, False)


def parsed_parts(url: str) -> UrlParts:
    parsed = _parsed(url)
    href = parsed.href if parsed is not None else ""
    match = _SPELT.match(href)
    if parsed is None or match is None:
        raise BadUrl("This is not an http or https URL.", url=redacted(url[:LONGEST_URL]))
    scheme, userinfo, host, port = match.groups()
    return UrlParts(
        target=_with_query_unchanged(href.partition("#")[0], url),
        scheme=scheme,
        host=host.strip("[]").rstrip("."),
        port=int(port) if port else _USUAL_PORTS[scheme],
        origin=f"{scheme}://{host}:{port}" if port else f"{scheme}://{host}",
        is_literal=bool(parsed.host_type),
        has_userinfo=userinfo is not None,
    )


def host_of(url: str) -> str:
    return parts_of(url).host


def port_of(url: str) -> int:
    return parts_of(url).port


def origin_of(url: str) -> str:
    return parts_of(url).origin


def shard_of(host: str) -> int:
    """The shard that deals a host to workers: the same number in every process and version."""
    return int.from_bytes(sha256(host.encode("utf-8", "surrogatepass")).digest()[:8]) % SHARDS


def redacted(url: str) -> str:
    """Redact a URL for logs and records: user name, password, values that look like secrets."""
    if "=" not in url and "@" not in url:
        return url
    return _PAIR.sub(_redacted_pair, _USERINFO.sub(r"\1//", url))


def _authority_of(text: str) -> str:
    match = _HTTP.match(text)
    if match:
        return match[1]
    scheme = _SCHEME.match(text)
    if scheme is None:
        raise BadUrl("The URL must begin with http:// or https://.")
    if scheme[1].lower() in ("http", "https"):
        raise BadUrl("The URL has no host after http:// or https://.")
    raise BadUrl(f"Only http and https URLs can be fetched, not {scheme[1][:32].lower()}:.")


def _is_plain(reference: str) -> bool:
    return (
        _PLAIN.fullmatch(reference) is not None
        and "/." not in reference
        and "xn--" not in reference
    )


def _parsed(url: str, base: str | None = None) -> URL | None:
    try:
        return URL(url, base)
    except ValueError:
        return None


def _check_host(host: str) -> None:
    """Check the limits of DNS, which the URL standard leaves to the resolver."""
    name = host.removesuffix(".")
    if len(name) > 253:
        raise BadUrl("The host name is longer than 253 characters.")
    labels = name.split(".")
    if any(len(label) > 63 for label in labels):
        raise BadUrl("A part of the host name is longer than 63 characters.")
    if not all(labels):
        raise BadUrl("The host name has an empty part.", host=host)


def _without_fragment(url: URL) -> str:
    return url.href.partition("#")[0]


def _with_query_unchanged(source: str, typed: str) -> str:
    """Publishers get the query byte for byte. It is encoded only when HTTP could not carry it."""
    _, mark, query = typed.partition("#")[0].partition("?")
    if not mark or not _SENT_UNCHANGED.fullmatch(query):
        return source
    return f"{source.partition('?')[0]}?{query}"


def _redacted_pair(pair: re.Match[str]) -> str:
    mark, name, _ = pair.groups()
    return f"{mark}{name}={REDACTED}" if _SECRET_NAME.search(unquote(name)) else pair[0]
