"""Numbers as titles write them: digits, Chinese numerals, Roman numerals, English ordinals."""

from decimal import Decimal

_DIGITS = {
    letter: value
    for value, letters in enumerate(
        ("零〇", "一壹", "二两兩贰貳", "三叁參", "四", "五", "六", "七", "八", "九")
    )
    for letter in letters
}
_UNITS = {"十": 10, "百": 100, "千": 1000}
HAN_DIGITS = "零〇一壹二两兩贰貳三叁參四五六七八九十百千"
"""Every character a Chinese numeral may be made of."""

ROMAN = {
    "ⅰ": 1, "ⅱ": 2, "ⅲ": 3, "ⅳ": 4, "ⅴ": 5, "ⅵ": 6, "ⅶ": 7, "ⅷ": 8, "ⅸ": 9,
    "i": 1, "ii": 2, "iii": 3, "iv": 4, "v": 5, "vi": 6, "vii": 7,
}  # fmt: skip
SPELT = {
    "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6,
    "first": 1, "second": 2, "third": 3, "fourth": 4, "fifth": 5, "sixth": 6, "seventh": 7,
    "eighth": 8, "ninth": 9, "tenth": 10,
}  # fmt: skip


def whole(written: str) -> int:
    """The number that digits or a Chinese numeral stand for."""
    if written.isascii():
        return int(written)
    return _chinese(written)


def decimal(written: str) -> Decimal:
    """12.5 for `12.5`, 3 for `03`; a Chinese numeral counts as well."""
    return Decimal(written) if written.isascii() else Decimal(_chinese(written))


def _chinese(written: str) -> int:
    if not any(letter in _UNITS for letter in written):
        return int("".join(str(_DIGITS.get(letter, letter)) for letter in written) or "0")
    total = 0
    pending = 0
    for letter in written:
        if letter in _UNITS:
            total += (pending or 1) * _UNITS[letter]
            pending = 0
        else:
            pending = _DIGITS.get(letter, 0)
    return total + pending
