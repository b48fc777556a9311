"""What a private source wants to see: headers, cookies, a login; kept to their own origin."""

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
"""Fields that belong to the connection, to the conversation, or to our honest name."""
_RESERVED_PREFIXES = ("if-", "proxy-", "sec-")


@dataclass(frozen=True, slots=True)
class Basic:
    username: str
    password: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Credentials:
    """Secrets, and the origins they were given for: they are never shown to any other.

    No value is ever part of a message, a log line or a `repr`.
    """

    origins: tuple[str, ...] = ()
    headers: Headers = field(default=(), repr=False)
    cookies: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    basic: Basic | None = field(default=None, repr=False)
    bearer: str | None = field(default=None, repr=False)

    @property
    def kinds(self) -> tuple[CredentialKind, ...]:
        """All that may be told about them."""
        held: dict[CredentialKind, object] = {
            "headers": self.headers,
            "cookies": self.cookies,
            "basic": self.basic,
            "bearer": self.bearer,
        }
        return tuple(kind for kind, value in held.items() if value)

    @property
    def authorization(self) -> str | None:
        if self.basic is not None:
            pair = f"{self.basic.username}:{self.basic.password}"
            return f"Basic {b64encode(pair.encode()).decode()}"
        return None if self.bearer is None else f"Bearer {self.bearer}"


def check_credentials(credentials: Credentials) -> Credentials:
    """The same, or BadInput that names the field and never the value."""
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
    """Scheme, host and port of each, once, in order; BadUrl for what is none."""
    return tuple(dict.fromkeys(origin_of(check_source_url(url)) for url in urls))


def bind_to_origin(url: str, credentials: Credentials) -> Credentials:
    """The same, checked, for the origin of this URL and no other."""
    return check_credentials(replace(credentials, origins=origins_of([url])))


@dataclass(frozen=True, slots=True)
class Keyring:
    """What one feed may show, and only at home: `home` is the origin of the feed's own URL.

    `parts` go from the general (its group's) to the special (its own).
    """

    home: str
    parts: tuple[Credentials, ...] = ()

    def headers_for(self, url: str) -> Headers:
        """Nothing, unless this URL is at home and the secrets were given for it."""
        origin = origin_of(url)
        if origin != self.home:
            return ()
        return _fields([part for part in self.parts if origin in part.origins])


def _fields(parts: Sequence[Credentials]) -> Headers:
    """Later parts win, name by name; one login only."""
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
    """For the vault alone."""
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
    said: Mapping[str, Any] = orjson.loads(plain)
    return Credentials(
        origins=tuple(said["origins"]),
        headers=tuple((name, value) for name, value in said["headers"]),
        cookies=tuple((name, value) for name, value in said["cookies"]),
        basic=None if said["basic"] is None else Basic(*said["basic"]),
        bearer=said["bearer"],
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
    """One way to log in: two would be sent as one, and nobody could say which."""
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
