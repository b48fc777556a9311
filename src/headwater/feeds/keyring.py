"""The keyring of a private feed: headers, cookies or a login, sent to their own origin only."""

import re
from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import orjson

from headwater.core.errors import BadInput
from headwater.core.values.response import Headers
from headwater.core.values.url import check_source_url, origin_of

CredentialKind = Literal["headers", "cookies", "basic", "bearer"]

MOST_HEADERS, MOST_COOKIES, MOST_ORIGINS = 16, 32, 32
LONGEST_NAME, LONGEST_VALUE, LONGEST_TOGETHER = 128, 4_096, 8_192

_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_VALUE = re.compile(r"[!-~](?:[\t -~]*[!-~])?")
_COOKIE_VALUE = re.compile(r"(?:[!-:<-~](?:[ -:<-~]*[!-:<-~])?)?")
_BEARER = re.compile(r"[A-Za-z0-9._~+/-]+=*")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")

_RESERVED_HEADERS = frozenset(
    """
    accept-encoding cache-control connection content-encoding content-length content-location
    content-range content-type date expect host http2-settings keep-alive pragma range te trailer
    transfer-encoding upgrade user-agent via
    """.split()
)
"""Header fields that belong to the connection or the exchange, or that name us honestly."""
_RESERVED_PREFIXES = ("if-", "proxy-", "sec-")


@dataclass(frozen=True, slots=True)
class Basic:
    username: str
    password: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Credentials:
    """Secrets, and the origins they are for: they are never sent to any other.

    No value is ever part of a message, a log line or a `repr`.
    """

    origins: tuple[str, ...] = ()
    headers: Headers = field(default=(), repr=False)
    cookies: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    basic: Basic | None = field(default=None, repr=False)
    bearer: str | None = field(default=None, repr=False)

    @property
    def kinds(self) -> tuple[CredentialKind, ...]:
        """The kinds of secrets, which is all that may be shown about them."""
        by_kind: dict[CredentialKind, object] = {
            "headers": self.headers,
            "cookies": self.cookies,
            "basic": self.basic,
            "bearer": self.bearer,
        }
        return tuple(kind for kind, value in by_kind.items() if value)

    @property
    def authorization(self) -> str | None:
        if self.basic is not None:
            pair = f"{self.basic.username}:{self.basic.password}"
            return f"Basic {b64encode(pair.encode()).decode()}"
        return None if self.bearer is None else f"Bearer {self.bearer}"


def check_credentials(credentials: Credentials) -> Credentials:
    """The same credentials, or BadInput that names the field and never the value."""
    _check_headers(credentials.headers)
    _check_cookies(credentials.cookies)
    _check_login(credentials)
    if not credentials.kinds:
        raise _bad("credentials", "Name headers, cookies, a basic login or a bearer token.")
    if not 1 <= len(credentials.origins) <= MOST_ORIGINS:
        raise _bad("origins", f"Credentials are for one origin at least, {MOST_ORIGINS} at most.")
    if sum(len(name) + len(value) + 4 for name, value in _fields([credentials])) > LONGEST_TOGETHER:
        raise _bad("credentials", f"Together they are longer than {LONGEST_TOGETHER} bytes.")
    return credentials


def origins_of(urls: Iterable[str]) -> tuple[str, ...]:
    """Scheme, host and port of each URL, once, in order. BadUrl when one is not a URL."""
    return tuple(dict.fromkeys(origin_of(check_source_url(url)) for url in urls))


def bind_to_origin(url: str, credentials: Credentials) -> Credentials:
    """The same credentials, checked, for the origin of this URL and no other."""
    return check_credentials(replace(credentials, origins=origins_of([url])))


@dataclass(frozen=True, slots=True)
class Keyring:
    """The credentials of a feed, for one origin only: `home` is the origin of the feed's own URL.

    `parts` go from the general (its group's) to the special (its own).
    """

    home: str
    parts: tuple[Credentials, ...] = ()

    def headers_for(self, url: str) -> Headers:
        """No headers, unless the URL is at the origin `home` and the secrets are for it."""
        origin = origin_of(url)
        if origin != self.home:
            return ()
        return _fields([part for part in self.parts if origin in part.origins])


def _fields(parts: Sequence[Credentials]) -> Headers:
    """The header fields of all parts. Later parts win, name by name; there is one login only."""
    fields: dict[str, tuple[str, str]] = {}
    cookies: dict[str, str] = {}
    for part in parts:
        fields |= {name.lower(): (name, value) for name, value in part.headers}
        if any(name.lower() == "cookie" for name, _ in part.headers):
            cookies.clear()
        if part.authorization is not None:
            fields["authorization"] = ("Authorization", part.authorization)
        cookies |= part.cookies
    if cookies:
        shown = "; ".join(f"{name}={value}" for name, value in cookies.items())
        fields["cookie"] = ("Cookie", shown)
    return tuple(fields.values())


def encode_credentials(credentials: Credentials) -> bytes:
    """The credentials in plain text: only the vault may see them."""
    basic = credentials.basic
    return orjson.dumps(
        {
            "origins": credentials.origins,
            "headers": credentials.headers,
            "cookies": credentials.cookies,
            "basic": None if basic is None else [basic.username, basic.password],
            "bearer": credentials.bearer,
        }
    )


def decode_credentials(plain: bytes) -> Credentials:
    fields: Mapping[str, Any] = orjson.loads(plain)
    return Credentials(
        origins=tuple(fields["origins"]),
        headers=tuple((name, value) for name, value in fields["headers"]),
        cookies=tuple((name, value) for name, value in fields["cookies"]),
        basic=None if fields["basic"] is None else Basic(*fields["basic"]),
        bearer=fields["bearer"],
    )


def _check_headers(headers: Headers) -> None:
    if len(headers) > MOST_HEADERS:
        raise _bad("headers", f"There are more than {MOST_HEADERS} headers.")
    if len({name.lower() for name, _ in headers}) != len(headers):
        raise _bad("headers", "A header is there twice.")
    for name, value in headers:
        _check_name("headers", name)
        if name.lower() in _RESERVED_HEADERS or name.lower().startswith(_RESERVED_PREFIXES):
            raise _bad("headers", f"{name} is not for you to set.")
        if len(value) > LONGEST_VALUE or not _VALUE.fullmatch(value):
            raise _bad(
                "headers",
                f"The value of {name} must be 1 to {LONGEST_VALUE} printable ASCII characters"
                " on one line.",
            )


def _check_cookies(cookies: Sequence[tuple[str, str]]) -> None:
    if len(cookies) > MOST_COOKIES:
        raise _bad("cookies", f"There are more than {MOST_COOKIES} cookies.")
    if len({name for name, _ in cookies}) != len(cookies):
        raise _bad("cookies", "A cookie is there twice.")
    for name, value in cookies:
        _check_name("cookies", name)
        if len(value) > LONGEST_VALUE or not _COOKIE_VALUE.fullmatch(value):
            raise _bad(
                "cookies",
                f"The value of {name} must be at most {LONGEST_VALUE} printable ASCII characters"
                " without a semicolon.",
            )


def _check_name(where: str, name: str) -> None:
    if len(name) > LONGEST_NAME or not _NAME.fullmatch(name):
        raise _bad(where, f"A name must be 1 to {LONGEST_NAME} letters, digits or any of -._~!#$%.")


def _check_login(credentials: Credentials) -> None:
    """Only one way to log in: of two only one would be sent, and nobody could say which."""
    names = {name.lower() for name, _ in credentials.headers}
    ways = [credentials.basic, credentials.bearer, "authorization" in names or None]
    if sum(way is not None for way in ways) > 1:
        raise _bad("credentials", "Only one of basic, bearer and an Authorization header can be.")
    if credentials.cookies and "cookie" in names:
        raise _bad("cookies", "Give cookies by name or as a Cookie header, not both.")
    if credentials.basic is not None:
        _check_basic(credentials.basic)
    token = credentials.bearer
    if token is not None and (len(token) > LONGEST_VALUE or not _BEARER.fullmatch(token)):
        raise _bad(
            "bearer",
            "A bearer token has letters, digits and -._~+/ with = at the end. For another kind of"
            " token set the Authorization header.",
        )


def _check_basic(basic: Basic) -> None:
    if ":" in basic.username:
        raise _bad("basic", "The user name must not have a colon in it.")
    for text in (basic.username, basic.password):
        if len(text.encode("utf-8", "surrogatepass")) > LONGEST_VALUE // 4 or _CONTROL.search(text):
            raise _bad("basic", f"User name and password: at most {LONGEST_VALUE // 4} bytes each,"
                       " without control characters.")  # fmt: skip


def _bad(where: str, message: str) -> BadInput:
    return BadInput(message, field=where)
