"""The address of a registered fetcher: a plain base URL, to which we add the path."""

import re

from headwater.core.errors import BadUrl
from headwater.core.values.url import check_source_url

CAN_HANDLE_PATH = "/can-handle-subscription"
NEWS_PATH = "/subscriptions"
LONGEST = 255
_SCHEME = re.compile(r"https?://", re.IGNORECASE)
_PREFIX = re.compile(r"(?:/[A-Za-z0-9_~-](?:[A-Za-z0-9._~-]*[A-Za-z0-9_~-])?)*")


def check_base_url(text: str) -> str:
    """The base URL as it is stored: in the parser's spelling, without a slash at the end.

    Anything that could lead elsewhere than it seems is refused: user names, queries, fragments,
    parameters, dots and percent signs in the path. The address gate decides whether the address
    may be reached at all.
    """
    base_url = text.strip()
    if not _SCHEME.match(base_url):
        raise BadUrl("A fetcher's base_url begins with http:// or https://.")
    if len(base_url) > LONGEST:
        raise BadUrl(f"A fetcher's base_url has at most {LONGEST} characters.")
    rest = base_url.partition("://")[2]
    for mark, what in (("?", "a query"), ("#", "a fragment"), (";", "a parameter"), ("\\", "a \\")):
        if mark in rest:
            raise BadUrl(f"A fetcher's base_url must not have {what} in it.")
    authority, slash, path = rest.partition("/")
    if "@" in authority or "%" in authority:
        raise BadUrl("A fetcher's base_url must not have a user name or password in it.")
    if not _PREFIX.fullmatch(f"{slash}{path}".rstrip("/")):
        raise BadUrl("The path of a fetcher's base_url must be plain names, without dots or %.")
    return check_source_url(base_url).rstrip("/")


def can_handle_url(base_url: str) -> str:
    return check_base_url(base_url) + CAN_HANDLE_PATH


def news_url(base_url: str) -> str:
    return check_base_url(base_url) + NEWS_PATH


def about_fetcher(name: str) -> str:
    """The name under which a fetcher's key is sealed. A fetcher keeps its name for ever, and has it
    before its row is made: so the key is sealed in the same transaction."""
    return f"fetcher:{name}"
