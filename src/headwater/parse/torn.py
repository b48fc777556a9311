"""JSON that was cut off: what is complete of it."""

import re

# A string that never ends goes on to the end.
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*+(?:"|\Z)|[\[\]{}]', re.DOTALL)
_IN_A_LIST = ["}", "]"]
_CLOSING = {"{": "}", "[": "]"}


def up_to_last_item(torn: str, depth: int) -> str | None:
    """The beginning of a document up to the last complete object in a list of its root, closed.

    None when it was not cut off, or before the first. One pass, as deep as `depth`.
    """
    expected: list[str] = []
    complete = 0
    for token in _TOKEN.finditer(torn):
        mark = token[0]
        if mark in _CLOSING:
            expected.append(_CLOSING[mark])
            if len(expected) > depth:
                return None
        elif mark in _IN_A_LIST:
            if not expected or expected.pop() != mark:
                return None
            if mark == "}" and expected == _IN_A_LIST:
                complete = token.end()
    return torn[:complete] + "]}" if complete and expected else None
