"""JSON that was cut off: what is complete of it."""

import re

# A string that never ends goes on to the end.
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*+(?:"|\Z)|[\[\]{}]', re.DOTALL)
_IN_A_LIST = ["}", "]"]
_CLOSING = {"{": "}", "[": "]"}


def close_torn_json(torn: str, depth: int) -> tuple[str, bool]:
    """The beginning of a document up to the last complete object in a list of its root, closed.

    Or up to the end of its root, when other things follow that; and whether it was cut off.
    Nothing when it was cut before the first. One pass, as deep as `depth`.
    """
    expected: list[str] = []
    complete = 0
    for token in _TOKEN.finditer(torn):
        mark = token[0]
        if mark in _CLOSING:
            expected.append(_CLOSING[mark])
            if len(expected) > depth:
                return "", False
        elif mark in _IN_A_LIST:
            if not expected or expected.pop() != mark:
                return "", False
            if not expected:
                return torn[: token.end()], False
            if mark == "}" and expected == _IN_A_LIST:
                complete = token.end()
    return (torn[:complete] + "]}", True) if complete else ("", False)
