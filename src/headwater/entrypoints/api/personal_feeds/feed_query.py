"""Parse the query of a personal feed's URL: once, and strictly."""

from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl

from headwater.core.errors import Unauthorized
from headwater.entrypoints.api.errors import BadBody

LONGEST_TOKEN = 256
MOST_FIELDS = 1_000
INVALID = "Invalid RSS token"

_TOKEN_BYTES = frozenset(range(0x21, 0x7F))
_NEEDS_DECODING = frozenset(b"&%+;")


@dataclass(frozen=True, slots=True)
class PersonalQuery:
    """`categories` None: all that the reader follows. `format` is for lists of feeds."""

    token: str
    limit: int | None = None
    categories: tuple[str, ...] | None = None
    format: str | None = None


def parse_feed_query(raw: bytes, most: int | None) -> PersonalQuery:
    """BadBody (422) for fields that are missing or do not work; Unauthorized (401) for text that
    cannot be a token. `most` bounds the limit; with None the limit is not read here. Unknown fields
    are ignored: feed readers add some of their own."""
    # Nearly all queries are a token and nothing else.
    if raw.startswith(b"token=") and _NEEDS_DECODING.isdisjoint(raw):
        return PersonalQuery(_check_token(raw[6:].decode("latin-1")))
    fields = _parse_fields(raw)
    tokens = fields.get("token", [])
    if not tokens:
        raise bad_query_field("token", "missing", "Field required")
    if len(tokens) > 1:
        raise bad_query_field("token", "string_type", "Input should be one token")
    limit = None if most is None else _parse_limit(fields.get("limit", []), most)
    categories = tuple(dict.fromkeys(fields["category"])) if "category" in fields else None
    format = fields["format"][-1] if "format" in fields else None
    return PersonalQuery(_check_token(tokens[0]), limit, categories, format)


def has_token(raw: bytes) -> bool:
    """Whether a reader's token is among the fields, valid or not."""
    return bool(raw) and "token" in _parse_fields(raw)


def _parse_fields(raw: bytes) -> dict[str, list[str]]:
    """Bytes that are not UTF-8 become surrogates, which no token and no category has."""
    try:
        pairs = parse_qsl(
            raw.decode("utf-8", "surrogateescape"),
            keep_blank_values=True,
            errors="surrogateescape",
            max_num_fields=MOST_FIELDS,
        )
    except ValueError as trouble:
        raise BadBody(f"A question may have {MOST_FIELDS} fields.") from trouble
    fields: dict[str, list[str]] = {}
    for name, value in pairs:
        fields.setdefault(name, []).append(value)
    return fields


def _check_token(text: str) -> str:
    """Visible ASCII without spaces: tokens of other tools are welcome too."""
    plain = (
        0 < len(text) <= LONGEST_TOKEN and text.isascii() and _TOKEN_BYTES.issuperset(text.encode())
    )
    if not plain:
        raise Unauthorized(INVALID)
    return text


def _parse_limit(limits: list[str], most: int) -> int | None:
    if not limits:
        return None
    text = limits[-1]
    if not (len(limits) == 1 and text.isascii() and text.isdigit() and 1 <= int(text[:9]) <= most):
        raise bad_query_field(
            "limit", "int_range", f"Input should be a whole number from 1 to {most}"
        )
    return int(text[:9])


def bad_query_field(field: str, kind: str, message: str) -> BadBody:
    detail: list[dict[str, Any]] = [{"type": kind, "loc": ["query", field], "msg": message}]
    return BadBody("The request has fields that do not work.", detail=detail)
