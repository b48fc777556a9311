"""A config against its fetcher's schema: checked exactly, never fetched for, never for long."""

import json
from time import process_time
from typing import Any

import pytest

from headwater.core.errors import BadConfig, BadConfigSchema
from headwater.subscriptions.fetchers.config_schema import check_config, check_config_schema
from headwater.subscriptions.fetchers.schema_limits import depth_of

SCHEMA = json.dumps(
    {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "properties": {
            "source": {"enum": ["mikanani", "other"]},
            "pages": {"type": "array", "items": {"$ref": "#/$defs/page"}},
            "password": {"type": "string", "maxLength": 8},
        },
        "required": ["source"],
        "additionalProperties": False,
        "$defs": {"page": {"type": "integer", "minimum": 1}},
    }
)


def refused(config: Any, schema: str | None = SCHEMA) -> BadConfig:
    with pytest.raises(BadConfig) as caught:
        check_config(config, schema)
    return caught.value


def refused_schema(schema: Any) -> BadConfigSchema:
    with pytest.raises(BadConfigSchema) as caught:
        check_config_schema(schema if isinstance(schema, str) else json.dumps(schema))
    return caught.value


def test_a_config_that_fits_is_stored_as_it_was_given() -> None:
    text = '{"source": "mikanani",  "pages": [1, 2]}'
    assert check_config(text, SCHEMA) == text


def test_an_object_is_stored_as_text() -> None:
    assert check_config({"source": "other"}, SCHEMA) == '{"source":"other"}'


def test_the_path_of_the_error_is_told() -> None:
    trouble = refused({"source": "mikanani", "pages": [1, 0]})
    assert trouble.facts["path"] == "/pages/1"
    assert (trouble.status, trouble.code) == (422, "bad_config")


def test_odd_names_in_the_path_are_escaped() -> None:
    schema = json.dumps({"additionalProperties": {"type": "string"}})
    assert refused({"a/b~c": 1}, schema).facts["path"] == "/a~1b~0c"


def test_of_many_problems_the_first_is_told() -> None:
    assert refused({"source": "mikanani", "pages": [0] * 500}).facts["path"] == "/pages/0"


def test_the_costliest_schema_and_config_there_may_be_are_checked_in_a_moment() -> None:
    """All at once each would be a million failures to describe; it must not stop a service."""
    schema = {"additionalProperties": {"anyOf": [{"maximum": -n} for n in range(990)]}}
    config = {f"name-{n}": n for n in range(990)}
    began = process_time()
    assert refused(config, check_config_schema(schema)).facts["path"] == "/name-1"
    assert process_time() - began < 5.0


def test_the_values_of_a_config_are_not_repeated() -> None:
    trouble = refused({"source": "mikanani", "password": "correct horse battery staple"})
    assert trouble.facts["path"] == "/password"
    assert "horse" not in trouble.message + json.dumps(trouble.facts)


def test_no_config_is_checked_as_an_empty_one() -> None:
    assert check_config(None, json.dumps({"type": "object"})) is None
    assert refused(None).message.startswith("The config does not fit its fetcher's schema")


def test_without_a_schema_any_object_is_fine() -> None:
    assert check_config('{"anything": [1]}', None) == '{"anything": [1]}'
    assert check_config(None, None) is None


@pytest.mark.parametrize("config", ["hello", "[1]", "1", "null", '{"a": NaN}', "{", '"text"'])
def test_what_is_no_json_object_is_refused_with_or_without_a_schema(config: str) -> None:
    assert refused(config, None).facts["path"] == ""
    assert refused(config).facts["path"] == ""


def test_a_config_too_large_or_too_deep_is_refused() -> None:
    assert "bytes" in refused({"a": "x" * 65_536}, None).message
    deep = '{"a":' * 33 + "1" + "}" * 33
    assert "deeper" in refused(deep, None).message
    assert "values" in refused({"a": [1] * 1_000}, None).message
    assert check_config('{"a":' * 32 + "1" + "}" * 32, None)


def test_no_schema_stays_none() -> None:
    assert check_config_schema(None) is None
    assert check_config_schema("") is None


def test_a_schema_is_stored_as_it_was_given() -> None:
    assert check_config_schema(SCHEMA) == SCHEMA
    assert check_config_schema({"type": "object"}) == '{"type":"object"}'


@pytest.mark.parametrize(
    ("schema", "path"),
    [
        ("{", ""),
        ("[]", ""),
        ("1", ""),
        ({"type": "strin"}, "/type"),
        ({"properties": {"a": {"minimum": "x"}}}, "/properties/a/minimum"),
        ({"$schema": "https://example.org/my-own"}, "/$schema"),
        ({"$schema": "http://json-schema.org/draft-04/schema#"}, "/$schema"),
        ({"$schema": 7}, "/$schema"),
        ({"properties": {"a": {"$ref": "#/$defs/b"}}}, "/properties/a/$ref"),
    ],
)
def test_what_is_no_json_schema_is_refused_at_registration(schema: Any, path: str) -> None:
    trouble = refused_schema(schema)
    assert (trouble.status, trouble.code, trouble.facts["path"]) == (422, "bad_config_schema", path)


@pytest.mark.parametrize(
    "reference",
    [
        "https://example.org/schema.json",
        "http://127.0.0.1:1/latest/meta-data",
        "file:///etc/passwd",
        "other.json",
        "//example.org/x",
        "http://json-schema.org/draft-07/schema#",
    ],
)
def test_nothing_is_ever_fetched_for_a_schema(reference: str) -> None:
    assert "another document" in refused_schema({"items": {"$ref": reference}}).message


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "#"},
        {"allOf": [{"$ref": "#"}]},
        {"properties": {"a": {"$ref": "#/properties/a"}}},
        {"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"not": {"$ref": "#/$defs/a"}}}},
        {"$defs": {"a": {"$ref": "#/%24defs/a"}}},
    ],
)
def test_a_schema_that_refers_to_itself_is_refused(schema: Any) -> None:
    assert "itself" in refused_schema(schema).message


@pytest.mark.parametrize(
    "schema",
    [
        {"items": {"$id": "https://example.org/inner", "$ref": "#/$defs/a"}},
        {"$dynamicRef": "#x"},
        {"$recursiveRef": "#"},
        {"$defs": {"a": {"$anchor": "x"}}},
        {"$defs": {"a": {"type": "string"}}, "items": {"$ref": "#x"}},
    ],
)
def test_what_would_hide_a_loop_from_us_is_refused(schema: Any) -> None:
    assert refused_schema(schema).code == "bad_config_schema"


def test_references_that_multiply_are_refused_before_they_run() -> None:
    """Twenty-four steps of two references each would be sixteen million checks."""
    steps: dict[str, Any] = {
        f"s{n}": {"allOf": [{"$ref": f"#/$defs/s{n + 1}"}] * 2} for n in range(12)
    }
    schema = {"$ref": "#/$defs/s0", "$defs": steps | {"s12": {"type": "string"}}}
    assert "deeper" in refused_schema(schema).message or "steps" in refused_schema(schema).message
    wide: dict[str, Any] = {
        f"s{n}": {"allOf": [{"$ref": f"#/$defs/s{n + 1}"}] * 20} for n in range(4)
    }
    schema = {"$ref": "#/$defs/s0", "$defs": wide | {"s4": {"type": "string"}}}
    assert "steps" in refused_schema(schema).message


def test_a_long_chain_of_references_is_refused_in_either_order() -> None:
    chain = [(f"s{n}", {"$ref": f"#/$defs/s{n + 1}"}) for n in range(1_000)]
    for order in (chain, chain[::-1]):
        schema = {"$defs": dict(order) | {"s1000": {}}}
        assert "deeper" in refused_schema(schema).message


def test_a_schema_too_large_or_too_deep_is_refused() -> None:
    assert "bytes" in refused_schema({"title": "x" * 65_536}).message
    deep: dict[str, Any] = {}
    for _ in range(40):
        deep = {"not": deep}
    assert "deeper" in refused_schema(deep).message
    assert "steps" in refused_schema({"anyOf": [{"minLength": n} for n in range(2_001)]}).message


@pytest.mark.parametrize("pattern", ["(?=a)b", r"(a)\1", "[", "(a{1000}){1000}", "a" * 513])
def test_a_pattern_that_cannot_be_bounded_is_refused(pattern: str) -> None:
    assert refused_schema({"pattern": pattern}).code == "bad_config_schema"
    assert refused_schema({"patternProperties": {pattern: {}}}).code == "bad_config_schema"


def test_too_many_patterns_are_refused() -> None:
    many: dict[str, Any] = {f"^a{n}$": {} for n in range(65)}
    assert "patterns" in refused_schema({"patternProperties": many}).message


def test_a_pattern_that_would_backtrack_for_ever_elsewhere_is_no_trouble() -> None:
    schema = json.dumps({"properties": {"a": {"pattern": "^(a+)+$"}}})
    assert refused({"a": "a" * 60_000 + "!"}, schema).facts["path"] == "/a"


def test_a_property_may_be_called_like_a_keyword() -> None:
    schema = {"properties": {"$ref": {"type": "string"}, "$id": {"type": "string"}}}
    assert check_config('{"$ref": "x", "$id": "y"}', check_config_schema(json.dumps(schema)))


def test_depth_counts_containers() -> None:
    values: list[Any] = [1, {}, [], {"a": 1}, {"a": []}, [[[]]]]
    assert [depth_of(value) for value in values] == [0, 1, 1, 1, 2, 3]
