"""Bencoding written for tests: keys sorted, texts as UTF-8."""

from typing import Any


def bencoded(value: Any) -> bytes:
    match value:
        case int():
            return b"i%de" % value
        case str():
            return bencoded(value.encode())
        case bytes():
            return b"%d:%s" % (len(value), value)
        case list() | tuple():
            return b"l" + b"".join(map(bencoded, value)) + b"e"
        case dict():
            pairs = sorted((k.encode() if isinstance(k, str) else k, v) for k, v in value.items())
            return b"d" + b"".join(bencoded(k) + bencoded(v) for k, v in pairs) + b"e"
    raise TypeError(value)
