"""Check a subscription's config against its fetcher's JSON Schema; both come from strangers."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, NoReturn

import orjson
from jsonschema_rs import RegexOptions, ValidationError, validator_for

from headwater.core.errors import BadConfig, BadConfigSchema
from headwater.subscriptions.fetchers.schema_limits import (
    MOST_DEPTH,
    check_schema_cost,
    depth_of,
    size_of,
)

MOST_SCHEMA_BYTES = 64 * 1024
MOST_CONFIG_BYTES = 64 * 1024
MOST_CONFIG_VALUES = 1_000
_MOST_MESSAGE = 500

# This regex engine cannot backtrack: its time grows with the text alone, whatever the pattern.
_PATTERNS = RegexOptions(size_limit=1 << 20, dfa_size_limit=1 << 20)
_VALUE = "the value"
"""Stands for a config's own values in messages: they may be secret."""

ConfigInput = str | Mapping[str, Any] | None


def check_config_schema(schema: ConfigInput | bool) -> str | None:
    """The schema as it is stored.

    Refused: no JSON Schema, or one that could cost or fetch too much.
    """
    if schema is None or schema == "":
        return None
    text = schema if isinstance(schema, str) else orjson.dumps(schema).decode()
    if len(text.encode("utf-8", "surrogatepass")) > MOST_SCHEMA_BYTES:
        raise BadConfigSchema(f"A config_schema has at most {MOST_SCHEMA_BYTES} bytes.", path="")
    _compile_schema(text)
    return text


def check_config(config: ConfigInput, schema: str | None) -> str | None:
    """The config as it is stored: JSON text of one object. None is checked as an empty object."""
    if config is None or config == "":
        text, values = None, {}
    else:
        text = config if isinstance(config, str) else orjson.dumps(config).decode()
        values = _parse_config(text)
    if schema is not None:
        _check_fits(values, schema)
    return text


def _parse_config(text: str) -> dict[str, Any]:
    if len(text.encode("utf-8", "surrogatepass")) > MOST_CONFIG_BYTES:
        raise BadConfig(f"A config has at most {MOST_CONFIG_BYTES} bytes.", path="")
    try:
        values = orjson.loads(text)
    except orjson.JSONDecodeError as trouble:
        raise BadConfig(f"The config is not JSON: {trouble}", path="") from trouble
    if not isinstance(values, dict):
        raise BadConfig("The config is JSON, but not an object.", path="")
    if depth_of(values) > MOST_DEPTH:
        raise BadConfig(f"The config is nested deeper than {MOST_DEPTH} levels.", path="")
    if size_of(values) > MOST_CONFIG_VALUES:
        raise BadConfig(f"The config has more than {MOST_CONFIG_VALUES} values.", path="")
    return values


def _check_fits(values: dict[str, Any], schema: str) -> None:
    """BadConfig with the first problem: looking for all of them takes a hundred times as long."""
    try:
        _compile_schema(schema).validate(values)
    except ValidationError as trouble:
        path = _format_pointer(trouble.instance_path)
        raise BadConfig(
            f"The config does not fit its fetcher's schema, at {path or 'its top'}:"
            f" {_short(trouble)}",
            path=path,
        ) from trouble


@lru_cache(maxsize=64)
def _compile_schema(text: str) -> Any:
    """Cached by its text: all subscriptions of a fetcher have the same schema."""
    schema = _parse_schema(text)
    check_schema_cost(schema)
    try:
        return validator_for(schema, pattern_options=_PATTERNS, mask=_VALUE, offline=True)
    except ValidationError as trouble:
        _raise_bad_schema(trouble)
    except ValueError as trouble:  # the library refuses to look at it at all
        raise BadConfigSchema(f"The config_schema cannot be used: {trouble}", path="") from trouble


def _parse_schema(text: str) -> dict[str, Any]:
    try:
        schema = orjson.loads(text)
    except orjson.JSONDecodeError as trouble:
        raise BadConfigSchema(f"The config_schema is not JSON: {trouble}", path="") from trouble
    if not isinstance(schema, dict):
        raise BadConfigSchema("A config_schema is a JSON object.", path="")
    return schema


def _raise_bad_schema(trouble: ValidationError) -> NoReturn:
    path = _format_pointer(trouble.instance_path)
    raise BadConfigSchema(
        f"The config_schema is not a JSON Schema, at {path or 'its top'}: {_short(trouble)}",
        path=path,
    ) from trouble


def _short(error: ValidationError) -> str:
    return error.message[:_MOST_MESSAGE]


def _format_pointer(path: list[str | int]) -> str:
    """A JSON Pointer (RFC 6901); empty for the whole."""
    return "".join(f"/{str(part).replace('~', '~0').replace('/', '~1')}" for part in path)
