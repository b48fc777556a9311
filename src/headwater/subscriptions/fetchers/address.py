"""Where a registered fetcher lives: a plain address of its own, to which we add the path."""

import re

from headwater.core.errors import BadUrl
from headwater.core.values.url import check_source_url

CAN_HANDLE_PATH = "/can-handle-subscription"
NEWS_PATH = "/subscriptions"
LONGEST = 255
_SCHEME = re.compile(r"https?://", re.IGNORECASE)
_PREFIX = re.compile(r"(?:/[A-Za-z0-9_~-](?:[A-Za-z0-9._~-]*[A-Za-z0-9_~-])?)*")


def check_base_url(text: str) -> str:
    """As it is stored: the parser's own spelling, without a slash at the end.

    Whatever could lead another way than it seems is refused: user names, queries, fragments,
    parameters, dots and percent signs in the path. Whether the address may be reached at all is
    for the address gate.
    """
    given = text.strip()
    if not _SCHEME.match(given):
        raise BadUrl("A fetcher's base_url begins with http:// or https://.")
    if len(given) > LONGEST:
        raise BadUrl(f"A fetcher's base_url has at most {LONGEST} characters.")
    rest = given.partition("://")[2]
    for mark, what in (("?", "a query"), ("#", "a fragment"), (";", "a parameter"), ("\\", "a \\")):
        if mark in rest:
            raise BadUrl(f"A fetcher's base_url must not have {what} in it.")
    authority, slash, path = rest.partition("/")
    if "@" in authority or "%" in authority:
        raise BadUrl("A fetcher's base_url must not have a user name or password in it.")
    if not _PREFIX.fullmatch(f"{slash}{path}".rstrip("/")):
        raise BadUrl("The path of a fetcher's base_url must be plain names, without dots or %.")
    return check_source_url(given).rstrip("/")


def can_handle_url(base_url: str) -> str:
    return check_base_url(base_url) + CAN_HANDLE_PATH


def news_url(base_url: str) -> str:
    return check_base_url(base_url) + NEWS_PATH


def about_fetcher(name: str) -> str:
    """What the key is sealed about. A fetcher's name is its own for ever, and is known before its
    row is made: so the key is sealed in the same transaction."""
    return f"fetcher:{name}"
