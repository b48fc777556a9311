"""Limits for a JSON Schema: its cost is counted first; loops and fetching are refused."""

from typing import Any
from urllib.parse import unquote

from headwater.core.errors import BadConfigSchema

MOST_DEPTH = 32
"""Levels of nesting, references followed."""

MOST_WORK = 1_000
"""Steps for one value, references followed: a reference used twice counts twice."""

MOST_PATTERNS, LONGEST_PATTERN = 64, 512

_DRAFTS = frozenset(
    {
        "https://json-schema.org/draft/2020-12/schema",
        "https://json-schema.org/draft/2019-09/schema",
        "http://json-schema.org/draft-07/schema",
        "http://json-schema.org/draft-06/schema",
    }
)
_TOO_DEEP = f"The config_schema is deeper than {MOST_DEPTH} levels."
# These change the meaning of "#/…", or refer to something that is known only at run time.
_UNCOUNTABLE = ("$anchor", "$dynamicAnchor", "$dynamicRef", "$recursiveAnchor", "$recursiveRef")


def depth_of(value: Any) -> int:
    """How deep lists and objects are nested; a plain value is 0."""
    depth, level = 0, [value] if isinstance(value, dict | list) else []
    while level:
        depth += 1
        below = (each for part in level for _, each in _items_of(part))
        level = [each for each in below if isinstance(each, dict | list)]
    return depth


def size_of(value: Any) -> int:
    """How many values there are, itself and those inside it."""
    count, level = 1, [value]
    while level:
        level = [
            each for part in level if isinstance(part, dict | list) for _, each in _items_of(part)
        ]
        count += len(level)
    return count


def check_schema_cost(schema: dict[str, Any]) -> None:
    """BadConfigSchema for a schema whose cost cannot be counted, or is too high."""
    draft = schema.get("$schema")
    if draft is not None and (not isinstance(draft, str) or draft.removesuffix("#") not in _DRAFTS):
        raise BadConfigSchema("The config_schema's $schema is not one we know.", path="/$schema")
    if depth_of(schema) > MOST_DEPTH:
        raise BadConfigSchema(_TOO_DEEP, path="")
    _CostCheck(schema).check()


class _CostCheck:
    """Walks a schema once: a part's work and height are known before those of parts that use it."""

    def __init__(self, schema: dict[str, Any]) -> None:
        self._schema = schema
        self._measured: dict[int, tuple[int, int]] = {}
        self._under_way: set[int] = set()
        self._patterns = 0

    def check(self) -> None:
        work, _ = self._measure(self._schema, "")
        if work > MOST_WORK:
            raise BadConfigSchema("The config_schema takes too many steps to check.", path="")

    def _measure(self, part: Any, path: str) -> tuple[int, int]:
        """(work, height) of a part, with what it refers to."""
        if not isinstance(part, dict | list):
            return 0, 0
        if id(part) in self._measured:
            return self._measured[id(part)]
        if id(part) in self._under_way:
            raise BadConfigSchema("The config_schema refers to itself.", path=path)
        self._under_way.add(id(part))
        if len(self._under_way) > MOST_DEPTH:
            raise BadConfigSchema(_TOO_DEEP, path=path)
        below = [self._measure(child, f"{path}/{name}") for name, child in _items_of(part)]
        if isinstance(part, dict):
            self._check_keywords(part, path)
            below += self._measure_reference(part, path)
        work = 1 + sum(each for each, _ in below)
        height = 1 + max((each for _, each in below), default=0)
        if height > MOST_DEPTH:
            raise BadConfigSchema(_TOO_DEEP, path=path)
        self._under_way.discard(id(part))
        self._measured[id(part)] = work, height
        return work, height

    def _measure_reference(self, part: dict[str, Any], path: str) -> list[tuple[int, int]]:
        reference = part.get("$ref")
        if not isinstance(reference, str):
            return []
        return [self._measure(self._resolve(reference, f"{path}/$ref"), f"{path}/$ref")]

    def _resolve(self, reference: str, path: str) -> Any:
        if not reference.startswith("#"):
            raise BadConfigSchema("The config_schema refers to another document.", path=path)
        if reference[1:2] not in ("", "/"):
            raise BadConfigSchema("The config_schema refers to an anchor.", path=path)
        place: Any = self._schema
        for step in unquote(reference[1:]).split("/")[1:]:
            name = step.replace("~1", "/").replace("~0", "~")
            if isinstance(place, dict) and name in place:
                place = place[name]
            elif isinstance(place, list) and name in map(str, range(len(place))):
                place = place[int(name)]
            else:
                raise BadConfigSchema("The config_schema refers to nothing.", path=path)
        return place

    def _check_keywords(self, part: dict[str, Any], path: str) -> None:
        for name in _UNCOUNTABLE:
            if isinstance(part.get(name), str | bool):
                raise BadConfigSchema(f"{name} is not used here.", path=f"{path}/{name}")
        if path and isinstance(part.get("$id"), str):
            raise BadConfigSchema("Only the whole schema may have an $id.", path=f"{path}/$id")
        for pattern in _patterns_of(part):
            self._patterns += 1
            if len(pattern) > LONGEST_PATTERN or self._patterns > MOST_PATTERNS:
                raise BadConfigSchema(
                    f"At most {MOST_PATTERNS} patterns of {LONGEST_PATTERN} characters each.",
                    path=path,
                )


def _items_of(part: dict[str, Any] | list[Any]) -> list[tuple[str | int, Any]]:
    return list(part.items() if isinstance(part, dict) else enumerate(part))


def _patterns_of(part: dict[str, Any]) -> list[str]:
    patterns = [part["pattern"]] if isinstance(part.get("pattern"), str) else []
    by_name = part.get("patternProperties")
    return patterns + (list(by_name) if isinstance(by_name, dict) else [])
