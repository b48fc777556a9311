"""Scripts that names are written in, as patterns for their characters."""

import re

HAN_LETTERS = r"\u3400-\u9fff\uf900-\ufaff"
CJK_LETTERS = rf"\u3040-\u30ff{HAN_LETTERS}\uac00-\ud7af"
"""All letters of East Asia, to stand between the square brackets of a pattern."""

KANA = re.compile(r"[\u3041-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff]")
HAN = re.compile(f"[{HAN_LETTERS}]")
HANGUL = re.compile(r"[\uac00-\ud7af]")
CJK = re.compile(f"[{CJK_LETTERS}]")
