"""What programs send that publish: an item, or many of them as lines of JSON."""

import re
from collections.abc import Iterator, Sequence
from typing import Annotated, Any

from pydantic import AfterValidator, Field, StrictInt, ValidationError

from headwater.entrypoints.api.bodies import check_json
from headwater.entrypoints.api.models import Strict
from headwater.entrypoints.api.moments import micros_of
from headwater.entrypoints.api.refusals import LONGEST_NAME, BadBody, BadMoment
from headwater.errors import BadInput
from headwater.publish.wire_text import web_url
from headwater.publishing import ItemWish, PublishPolicy, refuse_closed_category
from headwater.values.personal import Attached
from headwater.values.url import LONGEST as LONGEST_URL

LARGEST_FILE = 2**53 - 1
MOST_TOLD = 100
"""Problems of a batch that are told in words; the numbers of bad lines are told all."""

_MOMENT = re.compile(
    r"(\d{4}-\d\d-\d\d)[Tt ](\d\d:\d\d)(:\d\d(?:\.\d{1,9})?)?([Zz]|[+-]\d\d:\d\d)?", re.ASCII
)

Problem = dict[str, Any]


def _not_blank(text: str) -> str:
    if not text.strip():
        raise ValueError("must not be blank")
    return text


def _leads_somewhere(url: str) -> str:
    if web_url(url, "magnet:") is None or any(ord(letter) < 32 for letter in url):
        raise ValueError("must be an absolute http, https or magnet URL")
    return url


def _is_moment(text: str) -> str:
    _micros(text)
    return text


def _micros(text: str) -> int:
    """A time without a zone is UTC: many programs write one so."""
    found = _MOMENT.fullmatch(text)
    day, minute, second, zone = found.groups() if found else ("", "", "", "")
    try:
        moment = micros_of(f"{day}T{minute}{second or ':00'}{zone or 'Z'}", "pub_date")
    except BadMoment as trouble:
        raise ValueError("must be an RFC 3339 moment, such as 2026-01-31T08:00:00Z") from trouble
    assert moment is not None
    return moment


Title = Annotated[str, Field(min_length=1, max_length=1_024), AfterValidator(_not_blank)]
Link = Annotated[str, Field(max_length=LONGEST_URL), AfterValidator(_leads_somewhere)]
Short = Annotated[str, Field(min_length=1, max_length=1_024), AfterValidator(_not_blank)]


class EnclosureIn(Strict):
    """A file that goes with an item."""

    url: Link
    type: Annotated[str, Field(max_length=255)] | None = None
    length: Annotated[StrictInt, Field(ge=0, le=LARGEST_FILE)] | None = None

    def attached(self) -> Attached:
        return Attached(self.url, self.type, self.length)


class ItemIn(Strict):
    """Something to show in the feeds of everybody who follows its category."""

    title: Title
    description: str = Field(description="HTML. It is cleaned wherever it is shown.")
    link: Link
    category: Annotated[str, Field(min_length=1, max_length=1_024)]
    pub_date: Annotated[str, Field(max_length=64), AfterValidator(_is_moment)] | None = Field(
        None, description="RFC 3339; without a zone it is UTC. Without one: now."
    )
    content: str | None = Field(None, description="HTML: the whole text, where there is more.")
    authors: list[Short] = Field([], max_length=64)
    enclosures: list[EnclosureIn] = Field([], max_length=64)
    tags: list[Short] = Field([], max_length=100)
    id: Short | None = Field(
        None, description="What you call it: nothing comes into a category twice under one id."
    )

    def wish(self) -> ItemWish:
        return ItemWish(
            title=self.title,
            description=self.description,
            link=self.link,
            category=self.category,
            pub_date=None if self.pub_date is None else _micros(self.pub_date),
            content=self.content,
            authors=tuple(self.authors),
            enclosures=tuple(each.attached() for each in self.enclosures),
            tags=tuple(self.tags),
            name=self.id,
        )


def wishes_of(
    body: bytes, policy: PublishPolicy, *, most_items: int, most_bytes: int
) -> list[ItemWish]:
    """One for each line; BadBody names every line that does not work. Blank lines are nothing."""
    lines = [(number, line) for number, line in enumerate(body.split(b"\n"), 1) if line.strip()]
    if not 0 < len(lines) <= most_items:
        raise BadInput(f"A batch has 1 to {most_items} items, one on each line.", field="body")
    wishes, problems = list[ItemWish](), list[tuple[int, Problem]]()
    for number, line in lines:
        try:
            wishes.append(_wish_of(line, policy, most_bytes))
        except BadInput as trouble:
            problems += ((number, each) for each in _told(trouble))
        except ValidationError as trouble:
            problems += ((number, {**each}) for each in trouble.errors(include_url=False))
    if problems:
        raise _bad_lines(problems)
    return wishes


def _wish_of(line: bytes, policy: PublishPolicy, most_bytes: int) -> ItemWish:
    if len(line) > most_bytes:
        raise BadInput(f"An item has at most {most_bytes} bytes.")
    check_json(line)
    wish = ItemIn.model_validate_json(line).wish()
    refuse_closed_category(wish, policy)
    return wish


def _told(trouble: BadInput) -> Iterator[Problem]:
    if isinstance(trouble, BadBody):
        yield from ({**each, "loc": each["loc"][1:]} for each in trouble.facts["detail"])
    else:
        field = trouble.facts.get("field")
        yield {"type": trouble.code, "loc": [field] if field else [], "msg": trouble.message}


def _bad_lines(problems: Sequence[tuple[int, Problem]]) -> BadBody:
    """Bounded, and without an echo of what was sent."""
    numbers = list(dict.fromkeys(number for number, _ in problems))
    detail = [
        {
            "type": each["type"],
            "loc": ["body", number, *(_short(part) for part in each["loc"])],
            "msg": each["msg"],
        }
        for number, each in problems[:MOST_TOLD]
    ]
    which = ", ".join(map(str, numbers[:10])) + (", …" if len(numbers) > 10 else "")
    message = f"Nothing was published: {len(numbers)} of the lines do not work ({which})."
    return BadBody(message, detail=detail, bad_lines=numbers)


def _short(part: Any) -> Any:
    return part[:LONGEST_NAME] if isinstance(part, str) else part
