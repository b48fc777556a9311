"""For step 6 of reading a title: number patterns, one for each way to write an episode's number."""

import re
from decimal import Decimal

from headwater.anime.scripts import HAN_LETTERS

_DIGITS = {
    letter: value
    for value, letters in enumerate(
        ("零〇", "一壹", "二两兩贰貳", "三叁參", "四", "五", "六", "七", "八", "九")
    )
    for letter in letters
}
_UNITS = {"十": 10, "百": 100, "千": 1000}

HAN_DIGITS = "零〇一壹二两兩贰貳三叁參四五六七八九十百千"
"""All characters that a Chinese numeral may have."""
ROMAN = {
    "ⅰ": 1, "ⅱ": 2, "ⅲ": 3, "ⅳ": 4, "ⅴ": 5, "ⅵ": 6, "ⅶ": 7, "ⅷ": 8, "ⅸ": 9,
    "i": 1, "ii": 2, "iii": 3, "iv": 4, "v": 5, "vi": 6, "vii": 7,
}  # fmt: skip
ENGLISH_NUMERALS = {
    "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6,
    "first": 1, "second": 2, "third": 3, "fourth": 4, "fifth": 5, "sixth": 6, "seventh": 7,
    "eighth": 8, "ninth": 9, "tenth": 10,
}  # fmt: skip


def parse_whole_number(written: str) -> int:
    """The number that digits or a Chinese numeral stand for."""
    if written.isascii():
        return int(written)
    return _chinese(written)


def parse_decimal(written: str) -> Decimal:
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


WIDE_RANGE = re.compile(
    r"(?<=[\[★]) *(?:tv ?)?(?P<first>\d{2,4})(?: ?v\d)?[-~](?P<last>\d{2,4})(?![\d.])"
    r"(?P<rest>[^\]★]*)"
)
"""A range in brackets with anything after it: `[01-64TV全集+OVA+特典映像]`."""

MASKED = "\x1f"
"""The character that stands in the line for each masked one."""
_N = r"\d{1,4}(?:\.\d{1,2}(?![\dpi]))?"
_V = r"(?: ?v(?P<v>\d)(?!\d))?"
_V2 = r"(?: ?v(?P<v2>\d)(?!\d))?"
_TO = r" ?(?:-|~|to|至|到) ?"
_TIGHT = r"(?:-| ?~ ?|至|到| to )"
_IN_ALL = "[总總]第? ?"
_MORE = r"(?:\d{1,4} ?[,&+] ?){0,9}"
_BEGIN = r"(?<![a-z0-9.])"
_END = r"(?![a-z0-9])"
_STOP = rf"(?= *(?:$|[\[\](){{}}{MASKED}「『|+★]))"
_HAN_N = f"[{HAN_DIGITS}]{{1,4}}"
_COUNTER = "[话話集回巻]"
_FINAL = r"(?P<final>end|fin(?:ale?)?|完(?:结|結)?|[終终]|大结局|最終[回話话])"
_REST = (
    r"(?:end|fin(?:ale?)?|完结|完結|完|[終终]|大结局|合集|全集|[全合]|精校|修正版?|先行版?|重[制製]版?|batch"
    r"|complete|tv|bd|v\d|sp\d{0,2}|ova\d{0,2}|oad\d{0,2}|re|pre)"
)
SEASON_EPISODE = re.compile(
    rf"(?<![a-z0-9])s(?P<season>\d{{1,2}}) ?[.-]? ?(?:ep?|#)\.? ?(?P<first>{_N}){_V}"
    rf"(?:(?:(?: ?[-~&+] ?)?(?:s\d{{1,2}} ?)?ep?(?P<last>{_N})){{1,9}}"
    rf"|(?:{_TIGHT}(?P<next>\d{{2,4}})(?![\dpix])){{1,9}})?"
    rf"{_V2}(?!\d)"
)
SEASON_DASH = re.compile(
    rf"(?<![a-z0-9])s(?P<season>\d|(?<=\(s)\d\d)-(?P<first>\d{{2,4}}|(?<=-){_N}(?=\))){_V}{_END}"
)
SEASON_X_EPISODE = re.compile(
    rf"{_BEGIN}(?P<season>\d{{1,2}})x(?P<first>\d{{2,3}})(?:-(?P<last>\d{{2,3}}))?{_V}{_END}"
)
CHINESE_COUNTED = re.compile(
    rf"第 ?(?P<first>{_N}|{_HAN_N}){_V} ?{_COUNTER}?"
    rf"(?:(?:{_TO}| ?[,&+] ?{_MORE})第? ?(?P<last>{_N}|{_HAN_N}){_V2} ?)?"
    rf"(?:[话話集巻]|回(?![{HAN_LETTERS}]))"
    rf"(?: ?\((?P<absolute>\d{{1,4}})\))?"
    rf"(?: ?v(?P<v3>\d))?(?: ?[(\[]?{_FINAL})?"
)
# In Korean `제5화` is the fifth, and `전12화` or `총 12화` how many there are; `2화음` is a word.
_KOREAN_COUNTER = "화(?:(?![가-힣])|(?=완))"
_KOREAN_TOTAL = "(?<![^가-힣][전총])(?<![^가-힣][전총] )"
COUNTED_EPISODE = re.compile(
    rf"(?<![a-z0-9.全共第]){_KOREAN_TOTAL}(?:(?<![가-힣])제 ?)?"
    rf"(?P<first>{_N}){_V}(?:{_TO}(?P<last>{_N}){_V2})?"
    rf" ?(?:{_COUNTER}|{_KOREAN_COUNTER})(?![数數合全])"
)
_EPISODE = "(?:episodes?|eps?|épisodes?|epis[oó]di[oi]|folge|cap[ií]tulo|odc|b[oö]l[uü]m|сери[яи])"
NAMED_EPISODE = re.compile(
    rf"(?<![a-z0-9]){_EPISODE} ?[.:#]? ?(?P<first>{_N}){_V}"
    rf"(?:(?:{_TO}| ?& ?)(?:ep?)?(?P<last>{_N}){_V2})?{_END}(?: ?{_FINAL}{_END})?"
)
SHORT_EPISODE = re.compile(
    rf"{_BEGIN}e(?P<first>\d{{2,4}}){_V}(?:{_TO}e?(?P<last>\d{{2,4}}){_V2})?{_END}"
)
HASH_NUMBER = re.compile(rf"#(?P<first>{_N}){_V}(?:{_TO}#?(?P<last>{_N}){_V2})?{_END}")
N_OF_TOTAL = re.compile(
    rf"{_BEGIN}(?P<first>\d{{1,3}})(?:{_TO}(?P<last>\d{{1,3}}))?"
    rf" ?(?:of|из) ?(?P<total>\d{{1,3}}){_END}"
)
_LEAD = (
    r"(?:(?:tv|sp|specials?|ova|oad|ona|movie|ex|extra|番外篇?|特典|特[别別]篇|[剧劇][场場]版|[总總]集篇|総集編|no\.?|e|ep"
    r"|s(?P<season>\d{1,2}) -)(?: -)? ?)?"
)
IN_BRACKETS = re.compile(
    rf"(?<=[\[★]) *{_LEAD}#?(?P<first>{_N}){_V}"
    rf"(?:{_TO}(?:ep?|sp|第)?(?P<last>{_N}){_V2}"
    rf"| ?[&+,] ?{_MORE}(?P<next>\d{{1,4}}))?"
    rf" ?{_COUNTER}?(?:[ .]?(?:\((?:{_IN_ALL})?| ?- ?{_IN_ALL})(?P<absolute>\d{{1,4}})\)?)?"
    rf"(?P<rest>(?:[ .+&-]|{_REST})*+)(?=[\]★]|\(|$)"
)

NUMBER_BEFORE_TITLE = re.compile(rf"(?<=\[) *(?P<first>\d{{2,3}}){_V} (?=[^\W\d_])[^\[\]]*(?=\])")
"""A number and the episode's title in one bracket: `[04_Words of the episode]`."""
IN_PARENS = re.compile(rf"(?<=\() *(?P<first>\d{{1,4}}){_V}(?:{_TO}(?P<last>\d{{2,4}}))? *(?=\))")
RANGE_IN_PARENS = re.compile(
    rf"(?<=\() *(?P<first>\d{{1,4}}){_V}{_TO}(?P<last>\d{{2,4}}){_V2}"
    rf"(?P<rest>(?:[ .+&]|{_REST})*+| ?[+&][^()]*)(?=\))"
)

RANGE_BEFORE_TECHNICAL = re.compile(
    rf" *(?:tv ?)?(?P<first>\d{{1,4}}){_V}[-~](?P<last>\d{{2,4}})(?P<rest>(?: ?{_REST})*+)(?=[ ,/])"
)
"""A range that comes first among technical words: `(01-12Fin WebRip 1080p)`."""

NUMBER_BEFORE_TECHNICAL = re.compile(
    rf" *(?P<first>\d\d){_V} (?=(?:\d{{3,4}}[pi]|(?:web|bd|dvd|tv)-?(?:dl|rip)?)(?![a-z0-9]))"
)
"""A number that comes first among technical words: `[01 1080p HEVC]`."""
NUMBER_AFTER_DASH = re.compile(
    rf"(?:(?<=[ \]).{MASKED}])-[ .]?<?"
    rf"|(?<=[a-z!?。~\u3040-\u9fff])-(?: |(?=\d\d+(?: *|-)(?:$|[\[(v{MASKED}]))))"
    rf"(?P<first>{_N}){_V}"
    rf"(?:(?:(?:{_TIGHT}| ?[&+,] ?)(?P<last>{_N}){_V2}){{1,9}}"
    rf"(?=$|[ .\[(+{MASKED}]|end|fin|[全合]集)"
    rf"| - (?P<next>{_N}){_STOP})?"
    rf"(?: ?\((?P<absolute>\d{{1,4}})\))?(?:[ .]?{_FINAL}{_END})?(?:>|[全合]集)?"
    rf"(?=$|[ .\[(「{MASKED}_-]|\+[a-z])"
)

SPACED_RANGE = re.compile(
    rf"(?<=[ \]])(?P<first>\d{{2,4}}) [-~] (?P<last>\d{{2,4}})"
    rf"(?= *(?:$|[\[({MASKED}]|batch|complete))"
)
"""Two numbers that are a range only beside a word for a batch: `Name 01 - 24 (Batch)`."""
LAST_NUMBER = re.compile(
    rf"(?:(?<=[ .\]){MASKED}季期])(?<!vol.)(?<!vol. )(?<!\d\.)|(?<=[{HAN_LETTERS}])(?=0\d(?!\d))"
    rf"|(?<=[△▽☆♪♡♥])(?=\d\d(?!\d)))"
    rf"(?P<first>{_N}){_V}(?:{_TO}(?P<last>{_N}){_V2})?"
    rf"(?: ?\((?P<absolute>\d{{1,4}})\))?(?:[ .]?{_FINAL})?{_STOP}"
)
NUMBER_AMONG_WORDS = re.compile(
    rf"(?:(?<=[ \]])|(?<=[^\d]\.))(?<!vol.)(?<!vol. )"
    r"(?P<first>\d\d(?:\.\d(?!\d))?|\d{2,4}(?= ?v\d)|0\d\d|\d\d\d(?= - )|\d{2,4}(?=-)"
    r"|\d(?=-\d\d (?:complete|batch|end|fin)))"
    rf"{_V}(?:{_TIGHT}(?P<last>\d{{2,4}}){_V2}(?=[ .])|(?: {_FINAL})?"
    r"(?=[ .])(?! ?(?:个|個|年|岁|歲|天|日|人|分|秒|%|percent|years?|days?|(?:19|20)\d\d\b)))"
)
AT_START = re.compile(rf"^[ {MASKED}]*(?P<first>{_N}){_V}(?:(?= *$)|(?= *[-.] ))")
EPISODE_TOTAL = re.compile(rf"[全共] ?(?:\d{{1,4}}|{_HAN_N}) ?[话話集回]")
KIND_NUMBER = re.compile(
    rf"{_BEGIN}(?:ova|oad|ona|sp|specials?|ex|ncop|nced|op|ed)(?: |-| - |\.)?"
    rf"(?P<first>\d{{1,2}}(?:\.5)?){_V}(?:{_TO}(?P<last>\d{{1,2}}))?(?:(?<=[pd]\d)[a-d])?{_END}"
)
