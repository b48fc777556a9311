"""The base of all records, which are what callers get."""

from datetime import datetime
from typing import Annotated

from pydantic import BaseModel, ConfigDict, PlainSerializer, WithJsonSchema

from headwater.core.values.instant import rfc3339

Moment = Annotated[
    datetime,
    PlainSerializer(rfc3339, return_type=str),
    WithJsonSchema({"type": "string", "format": "date-time"}),
]


class Record(BaseModel):
    model_config = ConfigDict(frozen=True)
