"""The bases of all records: the shapes in which routes answer."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, Self

from pydantic import BaseModel, ConfigDict, PlainSerializer, WithJsonSchema

from headwater.core.values.instant import rfc3339

Moment = Annotated[
    datetime,
    PlainSerializer(rfc3339, return_type=str),
    WithJsonSchema({"type": "string", "format": "date-time"}),
]


class Record(BaseModel):
    """The base of everything that a route returns."""

    model_config = ConfigDict(frozen=True)


class NounRecord(Record):
    """A record that is made from a noun: each field is read from the attribute of its name.

    Where the noun has another name, or holds the value deeper inside, the field has a
    `validation_alias`. The records inside must be of this kind too.
    """

    model_config = ConfigDict(from_attributes=True, validate_by_name=True)

    @classmethod
    def of(cls, noun: object, **more: Any) -> Self:
        """The record of this noun. `more` holds the fields that the noun does not have."""
        return cls.model_validate(_NounAndMore(noun, more) if more else noun)


@dataclass(frozen=True, slots=True)
class _NounAndMore:
    noun: object
    more: Mapping[str, Any]

    def __getattr__(self, name: str) -> Any:
        return self.more[name] if name in self.more else getattr(self.noun, name)
