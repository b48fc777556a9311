"""Step 1 of reading a title: clean it, and fold a copy of it that the rules are matched on.

The folded copy is as long as the title (lower case, one kind of bracket, dash and space). Names are
cut from the title itself, at the same places, so they keep their own letters and marks.
"""

import re
import unicodedata

_TO_SPACE = dict.fromkeys((*range(0x09, 0x0E), 0x1C, 0x1D, 0x1E, 0x1F, 0x85, 0xA0, 0x3000), " ")
_UNSEEN: dict[int, str | None] = dict.fromkeys(
    (
        *range(0x09),
        *range(0x0E, 0x1C),
        *range(0x7F, 0x85),
        *range(0x86, 0xA0),
        0xAD,
        0x061C,
        0x180E,
        *range(0x200B, 0x2010),
        *range(0x2028, 0x202F),
        *range(0x2060, 0x2070),
        0xFEFF,
        *range(0xFE00, 0xFE10),
        *range(0xFFF9, 0xFFFC),
        *range(0xE0000, 0xE0080),
        *range(0xD800, 0xE000),
    ),
    None,
)
_WIDE = {
    wide: chr(wide - 0xFEE0)
    for wide in (*range(0xFF10, 0xFF1A), *range(0xFF21, 0xFF3B), *range(0xFF41, 0xFF5B))
}
_TIDY: dict[int, str | None] = {**_UNSEEN, **_TO_SPACE, **_WIDE}

_ALIKE = str.maketrans(
    "【】［］〔〕（）｛｝〖〗_～〜∼—–‐‑−―＋＆／｜：！？．，、＃＠＊＝×✕✖",
    "[][][](){}[] ~~~------+&/|:!?.,,#@*=xxx",
)
_SITE = re.compile(r"^www\.[\w-]{1,40}\.\w{2,12}(?:\.\w{2,3})? ?(?:- ?)?(?=\S)", re.IGNORECASE)
_SPACES = re.compile(r"  +")


def clean_title(title: str) -> str:
    """Remove invisible characters and double spaces, and make wide letters and digits plain.

    The address of a web site that some put in front goes too.
    """
    if not (title.isascii() and title.isprintable()):
        title = title.translate(_TIDY)
        if not unicodedata.is_normalized("NFC", title):
            title = unicodedata.normalize("NFC", title)
    return _SITE.sub("", _SPACES.sub(" ", title).strip())


def fold_title(text: str) -> str:
    """The copy of a text that the rules are matched on: as long as the text, character for
    character."""
    lowered = text.lower()
    if len(lowered) != len(text):
        lowered = "".join(small if len(small := letter.lower()) == 1 else letter for letter in text)
    return lowered.translate(_ALIKE)
