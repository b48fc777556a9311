"""Close torn JSON: keep the complete part of a document that was cut off."""

import re

# A string that never ends goes on to the end.
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*+(?:"|\Z)|[\[\]{}]', re.DOTALL)
_IN_A_LIST = ["}", "]"]
_CLOSING = {"{": "}", "[": "]"}


def close_torn_json(torn: str, depth: int) -> tuple[str, bool]:
    """The closed beginning of a document up to the last complete object in a list of its root, and
    whether the document was cut off.

    When other text follows the root, the document up to the end of its root. Empty when it was
    cut before the first object. It takes one pass, as deep as `depth`.
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
