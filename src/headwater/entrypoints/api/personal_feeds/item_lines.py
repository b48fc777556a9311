"""Parse the lines of a batch: each is an item as JSON, and each that does not work is named."""

from collections.abc import Iterator, Sequence
from typing import Any

from pydantic import ValidationError

from headwater.core.errors import BadInput
from headwater.entrypoints.api.errors import LONGEST_NAME, BadBody
from headwater.entrypoints.api.personal_feeds.item_records import ItemIn
from headwater.entrypoints.api.request_body import check_json
from headwater.personal_feeds.publish_items import NewItem, PublishPolicy, check_category

MOST_PROBLEMS_SHOWN = 100
"""So many problems of a batch are described. The answer has the numbers of all bad lines."""
FieldProblem = dict[str, Any]


def parse_item_lines(
    body: bytes, policy: PublishPolicy, *, most_items: int, most_bytes: int
) -> list[NewItem]:
    """One item for each line; BadBody names every line that does not work. Blank lines are
    skipped."""
    lines = [(number, line) for number, line in enumerate(body.split(b"\n"), 1) if line.strip()]
    if not 0 < len(lines) <= most_items:
        raise BadInput(f"A batch has 1 to {most_items} items, one on each line.", field="body")
    items, problems = list[NewItem](), list[tuple[int, FieldProblem]]()
    for number, line in lines:
        try:
            items.append(_parse_item_line(line, policy, most_bytes))
        except BadInput as trouble:
            problems += ((number, problem) for problem in _problems_of(trouble))
        except ValidationError as trouble:
            problems += ((number, {**error}) for error in trouble.errors(include_url=False))
    if problems:
        raise _bad_lines(problems)
    return items


def _parse_item_line(line: bytes, policy: PublishPolicy, most_bytes: int) -> NewItem:
    if len(line) > most_bytes:
        raise BadInput(f"An item has at most {most_bytes} bytes.")
    check_json(line)
    item = ItemIn.model_validate_json(line).item()
    check_category(item, policy)
    return item


def _problems_of(trouble: BadInput) -> Iterator[FieldProblem]:
    if isinstance(trouble, BadBody):
        for problem in trouble.facts["detail"]:
            yield {**problem, "loc": problem["loc"][1:]}
    else:
        field = trouble.facts.get("field")
        yield {"type": trouble.code, "loc": [field] if field else [], "msg": trouble.message}


def _bad_lines(problems: Sequence[tuple[int, FieldProblem]]) -> BadBody:
    """Bounded, and without the text that was sent."""
    numbers = list(dict.fromkeys(number for number, _ in problems))
    detail = [
        {
            "type": problem["type"],
            "loc": [
                "body",
                number,
                *(
                    part[:LONGEST_NAME] if isinstance(part, str) else part
                    for part in problem["loc"]
                ),
            ],
            "msg": problem["msg"],
        }
        for number, problem in problems[:MOST_PROBLEMS_SHOWN]
    ]
    which = ", ".join(map(str, numbers[:10])) + (", …" if len(numbers) > 10 else "")
    message = f"Nothing was published: {len(numbers)} of the lines do not work ({which})."
    return BadBody(message, detail=detail, bad_lines=numbers)
