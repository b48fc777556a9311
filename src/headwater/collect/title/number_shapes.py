"""The shapes that an episode's number is written in, as patterns over a title's line."""

import re

from headwater.collect.title.numerals import HAN_DIGITS
from headwater.collect.title.scripts import HAN_LETTERS

WIDE_RANGE = re.compile(
    r"(?<=[\[★]) *(?:tv ?)?(?P<first>\d{2,4})(?: ?v\d)?[-~](?P<last>\d{2,4})(?![\d.])"
    r"(?P<rest>[^\]★]*)"
)
"""A range in brackets with anything after it: `[01-64TV全集+OVA+特典映像]`."""

CUT = "\x1f"
"""Stands where something technical was taken out of the line."""

_N = r"\d{1,4}(?:\.\d{1,2}(?![\dpi]))?"
_V = r"(?: ?v(?P<v>\d)(?!\d))?"
_V2 = r"(?: ?v(?P<v2>\d)(?!\d))?"
_TO = r" ?(?:-|~|to|至|到) ?"
_TIGHT = r"(?:-| ?~ ?|至|到| to )"
_IN_ALL = "[总總]第? ?"
_MORE = r"(?:\d{1,4} ?[,&+] ?){0,9}"
_BEGIN = r"(?<![a-z0-9.])"
_END = r"(?![a-z0-9])"
_STOP = rf"(?= *(?:$|[\[\](){{}}{CUT}「『|+★]))"
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
CROSS = re.compile(
    rf"{_BEGIN}(?P<season>\d{{1,2}})x(?P<first>\d{{2,3}})(?:-(?P<last>\d{{2,3}}))?{_V}{_END}"
)
HAN_COUNTED = re.compile(
    rf"第 ?(?P<first>{_N}|{_HAN_N}){_V} ?{_COUNTER}?"
    rf"(?:(?:{_TO}| ?[,&+] ?{_MORE})第? ?(?P<last>{_N}|{_HAN_N}){_V2} ?)?"
    rf"(?:[话話集巻]|回(?![{HAN_LETTERS}]))"
    rf"(?: ?\((?P<absolute>\d{{1,4}})\))?"
    rf"(?: ?v(?P<v3>\d))?(?: ?[(\[]?{_FINAL})?"
)
# In Korean `제5화` is the fifth, and `전12화` or `총 12화` how many there are; `2화음` is a word.
_KOREAN_COUNTER = "화(?:(?![가-힣])|(?=완))"
_KOREAN_TOTAL = "(?<![^가-힣][전총])(?<![^가-힣][전총] )"
COUNTED = re.compile(
    rf"(?<![a-z0-9.全共第]){_KOREAN_TOTAL}(?:(?<![가-힣])제 ?)?"
    rf"(?P<first>{_N}){_V}(?:{_TO}(?P<last>{_N}){_V2})?"
    rf" ?(?:{_COUNTER}|{_KOREAN_COUNTER})(?![数數合全])"
)
_EPISODE = "(?:episodes?|eps?|épisodes?|epis[oó]di[oi]|folge|cap[ií]tulo|odc|b[oö]l[uü]m|сери[яи])"
NAMED = re.compile(
    rf"(?<![a-z0-9]){_EPISODE} ?[.:#]? ?(?P<first>{_N}){_V}"
    rf"(?:(?:{_TO}| ?& ?)(?:ep?)?(?P<last>{_N}){_V2})?{_END}(?: ?{_FINAL}{_END})?"
)
SHORT = re.compile(rf"{_BEGIN}e(?P<first>\d{{2,4}}){_V}(?:{_TO}e?(?P<last>\d{{2,4}}){_V2})?{_END}")
HASH = re.compile(rf"#(?P<first>{_N}){_V}(?:{_TO}#?(?P<last>{_N}){_V2})?{_END}")
OF = re.compile(
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
TITLED = re.compile(rf"(?<=\[) *(?P<first>\d{{2,3}}){_V} (?=[^\W\d_])[^\[\]]*(?=\])")
"""A number and what the episode is called, in one bracket: `[04_Words of the episode]`."""
IN_PARENS = re.compile(rf"(?<=\() *(?P<first>\d{{1,4}}){_V}(?:{_TO}(?P<last>\d{{2,4}}))? *(?=\))")
RANGE_IN_PARENS = re.compile(
    rf"(?<=\() *(?P<first>\d{{1,4}}){_V}{_TO}(?P<last>\d{{2,4}}){_V2}"
    rf"(?P<rest>(?:[ .+&]|{_REST})*+| ?[+&][^()]*)(?=\))"
)
PACKED = re.compile(
    rf" *(?:tv ?)?(?P<first>\d{{1,4}}){_V}[-~](?P<last>\d{{2,4}})(?P<rest>(?: ?{_REST})*+)(?=[ ,/])"
)
"""A range that comes first among technical words: `(01-12Fin WebRip 1080p)`."""
FIRST_OF_TECHNICAL = re.compile(
    rf" *(?P<first>\d\d){_V} (?=(?:\d{{3,4}}[pi]|(?:web|bd|dvd|tv)-?(?:dl|rip)?)(?![a-z0-9]))"
)
"""A number that comes first among technical words: `[01 1080p HEVC]`."""
DASHED = re.compile(
    rf"(?:(?<=[ \]).{CUT}])-[ .]?<?"
    rf"|(?<=[a-z!?。~\u3040-\u9fff])-(?: |(?=\d\d+(?: *|-)(?:$|[\[(v{CUT}]))))"
    rf"(?P<first>{_N}){_V}"
    rf"(?:(?:(?:{_TIGHT}| ?[&+,] ?)(?P<last>{_N}){_V2}){{1,9}}(?=$|[ .\[(+{CUT}]|end|fin|[全合]集)"
    rf"| - (?P<next>{_N}){_STOP})?"
    rf"(?: ?\((?P<absolute>\d{{1,4}})\))?(?:[ .]?{_FINAL}{_END})?(?:>|[全合]集)?"
    rf"(?=$|[ .\[(「{CUT}_-]|\+[a-z])"
)
SPACED_RANGE = re.compile(
    rf"(?<=[ \]])(?P<first>\d{{2,4}}) [-~] (?P<last>\d{{2,4}})(?= *(?:$|[\[({CUT}]|batch|complete))"
)
"""Two numbers that are a range only in what calls itself a batch: `Name 01 - 24 (Batch)`."""
LAST = re.compile(
    rf"(?:(?<=[ .\]){CUT}季期])(?<!vol.)(?<!vol. )(?<!\d\.)|(?<=[{HAN_LETTERS}])(?=0\d(?!\d))"
    rf"|(?<=[△▽☆♪♡♥])(?=\d\d(?!\d)))"
    rf"(?P<first>{_N}){_V}(?:{_TO}(?P<last>{_N}){_V2})?"
    rf"(?: ?\((?P<absolute>\d{{1,4}})\))?(?:[ .]?{_FINAL})?{_STOP}"
)
MIDDLE = re.compile(
    rf"(?:(?<=[ \]])|(?<=[^\d]\.))(?<!vol.)(?<!vol. )"
    r"(?P<first>\d\d(?:\.\d(?!\d))?|\d{2,4}(?= ?v\d)|0\d\d|\d\d\d(?= - )|\d{2,4}(?=-)"
    r"|\d(?=-\d\d (?:complete|batch|end|fin)))"
    rf"{_V}(?:{_TIGHT}(?P<last>\d{{2,4}}){_V2}(?=[ .])|(?: {_FINAL})?"
    r"(?=[ .])(?! ?(?:个|個|年|岁|歲|天|日|人|分|秒|%|percent|years?|days?|(?:19|20)\d\d\b)))"
)
AT_START = re.compile(rf"^[ {CUT}]*(?P<first>{_N}){_V}(?:(?= *$)|(?= *[-.] ))")
ALL_OF_THEM = re.compile(rf"[全共] ?(?:\d{{1,4}}|{_HAN_N}) ?[话話集回]")
KIND_NUMBER = re.compile(
    rf"{_BEGIN}(?:ova|oad|ona|sp|specials?|ex|ncop|nced|op|ed)(?: |-| - |\.)?"
    rf"(?P<first>\d{{1,2}}(?:\.5)?){_V}(?:{_TO}(?P<last>\d{{1,2}}))?(?:(?<=[pd]\d)[a-d])?{_END}"
)
