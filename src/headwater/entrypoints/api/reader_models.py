"""What callers send about readers: names, the categories they follow, how long a grace lasts."""

from typing import Annotated

from pydantic import AfterValidator, Field

from headwater.entrypoints.api.models import Strict, printable
from headwater.readers import LONGEST_CATEGORY, LONGEST_NAME

MOST_CATEGORIES = 10_000
"""More than any setting allows."""

LONGEST_GRACE = 8_760.0


def _each_once(names: list[str]) -> list[str]:
    if len(set(names)) != len(names):
        raise ValueError("must not name one category twice")
    return names


ReaderName = Annotated[str, Field(min_length=1, max_length=LONGEST_NAME), AfterValidator(printable)]
CategoryName = Annotated[
    str, Field(min_length=1, max_length=LONGEST_CATEGORY, description="Exactly this name.")
]
CategoryNames = Annotated[
    list[CategoryName], Field(max_length=MOST_CATEGORIES), AfterValidator(_each_once)
]


class NewReaderIn(Strict):
    """Somebody with a feed of their own."""

    name: ReaderName
    categories: CategoryNames = Field(default=[])


class ReaderChanges(Strict):
    """Only what is named changes; `categories` are all that is followed from then on."""

    name: ReaderName = "a name"
    categories: CategoryNames = Field(default=[])

    @property
    def said_name(self) -> str | None:
        return self.name if "name" in self.model_fields_set else None

    @property
    def said_categories(self) -> list[str] | None:
        return self.categories if "categories" in self.model_fields_set else None


class NewTokenIn(Strict):
    """There is nothing to say about a new token yet: an empty object, or no body at all."""


class RotateTokenIn(Strict):
    grace_hours: (
        Annotated[float, Field(strict=True, ge=0, le=LONGEST_GRACE, allow_inf_nan=False)] | None
    ) = Field(
        None,
        description="How long the old token works beside the new one; 0: it ends now."
        " Without it as the setting `personal_grace_hours` says.",
    )
