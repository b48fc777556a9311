"""Parse the `KEY=VALUE` words of a command line."""

from collections.abc import Collection, Iterable, Iterator
from typing import Any

import orjson

from headwater.core.errors import BadInput


def parse_key_values(
    words: Iterable[str], *, texts: Collection[str] = (), lists: Collection[str] = ()
) -> dict[str, Any]:
    """Parse `fetch_interval_minutes=30 name=News` into the fields of a body."""
    return {
        name: parse_value(name, text, texts=texts, lists=lists)
        for name, text in split_key_values(words)
    }


def split_key_values(words: Iterable[str]) -> Iterator[tuple[str, str]]:
    for word in words:
        name, mark, text = word.partition("=")
        if not mark or not name:
            raise BadInput(f"{word!r} is not KEY=VALUE.", given=word)
        yield name, text


def parse_value(name: str, text: str, *, texts: Collection[str], lists: Collection[str]) -> Any:
    """Parse one value. `KEY=` is null. A value that is no JSON is a text; those of `texts` always
    are."""
    if name in lists:
        return [part.strip() for part in text.split(",") if part.strip()]
    if not text:
        return None
    return text if name in texts else parse_json_or_text(text)


def parse_json_or_text(text: str) -> Any:
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return text
