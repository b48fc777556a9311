"""What callers send about sinks: where events go, which ones, and from where on."""

from typing import Annotated, Any, Self

from pydantic import AfterValidator, BeforeValidator, Field, StrictBool, StrictInt, model_validator

from headwater.announce.sinks.wish import BEGINNING, END, NAME, SinkWish, Start
from headwater.announce.sinks.wish import SinkChanges as Changes
from headwater.announce.wanted import Wanted, checked_wanted
from headwater.entrypoints.api.models import Strict
from headwater.entrypoints.api.moments import micros_of
from headwater.entrypoints.api.refusals import BadMoment
from headwater.subscribe.feed import KEEP

MOST_LETTERS = 500
"""Dead letters that one request may name."""

LARGEST_SEQ = 2**63 - 1


def _start(given: object) -> object:
    """A number is the first event to be told; a time, the moment from which on."""
    if given == "beginning":
        return BEGINNING
    if type(given) is int and 0 <= given <= LARGEST_SEQ:
        return Start(seq=given)
    try:
        if not isinstance(given, str):
            raise BadMoment("not a text")
        return Start(moment=micros_of(given, "from"))
    except BadMoment as trouble:
        raise ValueError(
            "must be a number, an RFC 3339 time with a zone, or beginning"
        ) from trouble


def _each_once(seqs: list[int]) -> list[int]:
    if len(set(seqs)) != len(seqs):
        raise ValueError("must not name one event twice")
    return seqs


SinkName = Annotated[
    str, Field(pattern=f"^{NAME}$", description="Letters, digits, `_`, `-` and `.`; 64 at most.")
]
Kind = Annotated[str, Field(min_length=1, max_length=64)]
OptionName = Annotated[str, Field(min_length=1, max_length=64)]
Options = Annotated[
    dict[OptionName, str | StrictInt | StrictBool | float | None], Field(max_length=32)
]
Secret = Annotated[str, Field(min_length=1, max_length=8_192)]
Attempts = Annotated[
    StrictInt,
    Field(ge=1, le=1_000_000, description="Tries before an event dies; null: it never does."),
]
From = Annotated[
    Start,
    BeforeValidator(_start, json_schema_input_type=int | str),
    Field(alias="from", description="A number, an RFC 3339 time, or `beginning`."),
]
Seq = Annotated[StrictInt, Field(ge=1, le=LARGEST_SEQ)]


class WantedIn(Strict):
    """Which events; an empty list means all."""

    types: Annotated[list[str], Field(max_length=64)] = Field(default=[])
    feeds: Annotated[list[str], Field(max_length=1_000)] = Field(default=[])
    categories: Annotated[list[str], Field(max_length=100)] = Field(default=[])

    def wanted(self) -> Wanted:
        return checked_wanted(self.types, self.feeds, self.categories)

    def said(self) -> dict[str, tuple[str, ...]]:
        return {name: tuple(getattr(self, name)) for name in sorted(self.model_fields_set)}


class NewSinkIn(Strict):
    """A sink. Without `from` it is told of what happens from now on."""

    name: SinkName
    kind: Kind
    options: Options = Field(default={})
    secrets: Annotated[dict[OptionName, Secret], Field(max_length=16)] = Field({}, repr=False)
    wanted: WantedIn = WantedIn()
    enabled: StrictBool = True
    max_attempts: Attempts | None = None
    start: From = END

    def wish(self) -> SinkWish:
        return SinkWish(
            name=self.name,
            kind=self.kind,
            options=self.options,
            secrets=self.secrets,
            wanted=self.wanted.wanted(),
            enabled=self.enabled,
            max_attempts=self.max_attempts if "max_attempts" in self.model_fields_set else KEEP,
            start=self.start,
        )


class SinkChanges(Strict):
    """Only what is named changes; null goes back to the default, or takes a secret away."""

    options: Options = Field(default={})
    secrets: Annotated[dict[OptionName, Secret | None], Field(max_length=16)] = Field(
        {}, repr=False
    )
    wanted: WantedIn = WantedIn()
    enabled: StrictBool = True
    max_attempts: Attempts | None = None

    def changes(self) -> Changes:
        said: dict[str, Any] = {
            name: getattr(self, name) for name in self.model_fields_set - {"wanted"}
        }
        return Changes(**said, wanted=self.wanted.said())


class ReplayIn(Strict):
    start: From


class RetryIn(Strict):
    """Those that are named, or all of them."""

    seqs: (
        Annotated[
            list[Seq], Field(min_length=1, max_length=MOST_LETTERS), AfterValidator(_each_once)
        ]
        | None
    ) = None
    all: StrictBool = False

    @model_validator(mode="after")
    def _one_of_them(self) -> Self:
        if (self.seqs is None) != self.all:
            raise ValueError("name the seqs, or say all")
        return self


class RotateIn(Strict):
    secret: Secret | None = Field(
        None, repr=False, description="Your own `whsec_…`; without it one is made and shown once."
    )
