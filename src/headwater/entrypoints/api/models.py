"""Models of request bodies that several areas use: their base, their fields, credentials."""

import json
import re
from collections.abc import Collection, Hashable
from datetime import UTC, datetime
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, StrictInt

from headwater.core.values.instant import to_micros
from headwater.entrypoints.api.errors import BadMoment
from headwater.feeds.feed import HIGHEST_PRIORITY, LOWEST_PRIORITY
from headwater.feeds.keyring import Basic, Credentials
from headwater.feeds.overrides import LONGEST_INTERVAL_SEC, SHORTEST_INTERVAL_SEC


def check_printable(text: str) -> str:
    if any(ord(char) < 32 or 127 <= ord(char) < 160 for char in text):
        raise ValueError("must not have control characters")
    if not text.strip():
        raise ValueError("must not be blank")
    return text


def each_once(what: str) -> AfterValidator:
    """For a list that must not name the same thing twice, such as "one category"."""

    def check(values: Collection[Hashable]) -> Collection[Hashable]:
        if len(set(values)) != len(values):
            raise ValueError(f"must not name {what} twice")
        return values

    return AfterValidator(check)


Title = Annotated[str, Field(min_length=1, max_length=1_024), AfterValidator(check_printable)]
Category = Annotated[str, Field(min_length=1, max_length=200), AfterValidator(check_printable)]
Categories = Annotated[tuple[Category, ...], Field(max_length=64), each_once("one category")]
Priority = Annotated[
    StrictInt,
    Field(ge=LOWEST_PRIORITY, le=HIGHEST_PRIORITY, description="Higher goes first under load."),
]
Seconds = Annotated[StrictInt, Field(ge=SHORTEST_INTERVAL_SEC, le=LONGEST_INTERVAL_SEC)]


class Strict(BaseModel):
    """The base of all bodies: a field that we do not know is refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    def named_fields(self) -> dict[str, Any]:
        """The values of the fields that the caller named, in the order of their names."""
        return {name: getattr(self, name) for name in sorted(self.model_fields_set)}


class NothingIn(Strict):
    """There is nothing to say: an empty object, or no body at all."""


Secret = Annotated[str, Field(max_length=8_192)]


class BasicIn(Strict):
    username: Secret
    password: Secret = Field(repr=False)


class CredentialsIn(Strict):
    """Credentials of a private source. One login at most; they replace those set before."""

    headers: dict[str, Secret] = Field(default={}, repr=False)
    cookies: dict[str, Secret] = Field(default={}, repr=False)
    basic: BasicIn | None = Field(default=None, repr=False)
    bearer: Secret | None = Field(default=None, repr=False)

    def credentials(self) -> Credentials:
        basic = self.basic
        return Credentials(
            headers=tuple(self.headers.items()),
            cookies=tuple(self.cookies.items()),
            basic=None if basic is None else Basic(basic.username, basic.password),
            bearer=self.bearer,
        )


_RFC3339 = re.compile(
    r"\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d{1,9})?([Zz]|[+-]\d\d:\d\d)", re.ASCII
)


def parse_moment(text: str | None, field: str) -> int | None:
    if text is None:
        return None
    try:
        if not _RFC3339.fullmatch(text):
            raise ValueError("not RFC 3339")
        return to_micros(datetime.fromisoformat(_cut_to_micros(text).upper()).astimezone(UTC))
    except (ValueError, OverflowError) as trouble:
        raise BadMoment(
            f"{field} must be an RFC 3339 moment with a zone, such as 2026-01-31T08:00:00Z"
            " (in a URL, write + as %2B).",
            field=field,
        ) from trouble


def _cut_to_micros(text: str) -> str:
    """Cut the digits of a second after the sixth: the database holds no more."""
    return re.sub(r"(\.\d{6})\d+", r"\1", text)


LARGEST_ID = 2**63 - 1


def _as_text(value: object) -> object:
    """The JSON of an object. A text is kept byte for byte."""
    if not isinstance(value, dict):
        return value
    try:
        # Not orjson: it refuses integers of more than 64 bits, and writes infinity as null.
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    except ValueError as trouble:
        raise ValueError("must have no number that is too large") from trouble


Id = Annotated[StrictInt, Field(ge=1, le=LARGEST_ID)]
JsonObject = Annotated[
    str,
    BeforeValidator(_as_text, json_schema_input_type=str | dict[str, Any]),
    Field(description="An object, or a text that holds one as JSON."),
]
Minutes = Annotated[
    StrictInt, Field(ge=1, le=366 * 1_440, description="The cadence you want; null: adaptive.")
]
