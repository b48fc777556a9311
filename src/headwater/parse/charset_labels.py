"""Labels of charsets: other names from the Encoding standard, from Python, and from real feeds."""


def _by_label(codecs: str) -> dict[str, str]:
    return {codec.replace("_", "-"): codec for codec in codecs.split()}


RARE_SINGLE_BYTE = _by_label(
    "cp720 cp737 cp775 cp855 cp856 cp857 cp858 cp860 cp861 cp862 cp863 cp864 cp865 cp869 cp1006 "
    "cp1125 hp_roman8 koi8_t kz1048 mac_arabic mac_croatian mac_farsi mac_greek mac_iceland "
    "mac_latin2 mac_romanian mac_turkish palmos ptcp154"
)
RARE_MANY_BYTES = _by_label("euc_jis_2004 euc_jisx0213 shift_jis_2004 shift_jisx0213")
RARE_STATEFUL = _by_label("iso2022_jp_1 iso2022_jp_2004 iso2022_jp_3 iso2022_jp_ext")
EBCDIC = _by_label("cp037 cp273 cp424 cp500 cp875 cp1026 cp1140")
"""Charsets in which no letter has its ASCII byte, by label."""

_OTHERS = {
    "utf-8": "utf unicode11utf8 unicode20utf8 x-unicode20utf8",
    "iso-8859-1": "ansi ansi-x3.4-1968 cp819 csisolatin1 ibm819 iso-ir-100 iso-8859-1:1987 l1",
    "iso-8859-2": "csisolatin2 iso-ir-101 iso-8859-2:1987 l2 latin2",
    "iso-8859-3": "csisolatin3 iso-ir-109 iso-8859-3:1988 l3 latin3",
    "iso-8859-4": "csisolatin4 iso-ir-110 iso-8859-4:1988 l4 latin4",
    "iso-8859-5": "csisolatincyrillic cyrillic iso-ir-144 iso-8859-5:1988",
    "iso-8859-6": "arabic asmo-708 csisolatinarabic ecma-114 iso-ir-127 iso-8859-6:1987 "
    "iso-8859-6-e iso-8859-6-i",
    "iso-8859-7": "csisolatingreek ecma-118 elot-928 greek greek8 iso-ir-126 iso-8859-7:1987",
    "iso-8859-8": "csisolatinhebrew hebrew iso-ir-138 iso-8859-8:1988 iso-8859-8-e iso-8859-8-i "
    "logical visual",
    "iso-8859-9": "csisolatin5 iso-ir-148 iso-8859-9:1989 l5 latin5",
    "iso-8859-10": "csisolatin6 iso-ir-157 l6 latin6",
    "iso-8859-15": "csisolatin9 l9 latin9 latin-9",
    "koi8-r": "cskoi8r koi koi8",
    "ibm866": "866 csibm866",
    "macintosh": "csmacintosh mac",
    "mac-greek": "x-mac-greek",
    "mac-latin2": "mac-ce x-mac-ce",
    "mac-turkish": "x-mac-turkish",
    "x-mac-cyrillic": "x-mac-ukrainian",
    "windows-874": "dos-874",
    "gbk": "chinese csgb2312 csiso58gb231280 gb-2312 iso-ir-58 ms936",
    "big5": "big5-tw cn-big5 csbig5 x-x-big5",
    "shift_jis": "csshiftjis ms932 ms-kanji shiftjis",
    "euc-jp": "cseucpkdfmtjapanese",
    "iso-2022-jp": "csiso2022jp iso-2022-jp-1 iso-2022-jp-2",
    "euc-kr": "cseuckr csksc56011987 iso-ir-149 korean ks-c-5601-1987 ks-c-5601-1989 ksc5601 "
    "ksc-5601 windows-949",
    "utf-16": "unicode csunicode",
}

# Names that only Python has, and names of codecs that only Python has.
_PYTHONS = {
    "us-ascii": "646 ansi-x3.4-1986 cp367 csascii ibm367 iso-646.irv:1991 iso-ir-6 iso646-us us",
    "utf-8": "cp65001 u8 utf8-ucs2 utf8-ucs4",
    "utf-16": "u16 utf16",
    "utf-16le": "unicodelittleunmarked utf-16-le",
    "utf-16be": "unicodebigunmarked utf-16-be",
    "utf-32": "u32 utf32",
    "utf-32le": "utf-32-le",
    "utf-32be": "utf-32-be",
    "iso-8859-1": "8859 iso8859 latin",
    "iso-8859-10": "iso-8859-10:1992",
    "iso-8859-11": "iso-8859-11:2001 thai",
    "iso-8859-13": "l7 latin7",
    "iso-8859-14": "iso-8859-14:1998 iso-celtic iso-ir-199 l8 latin8",
    "iso-8859-16": "iso-8859-16:2001 iso-ir-226 l10 latin10",
    "windows-874": "cp874",
    "tis-620": "iso-ir-166 tis-620-0 tis-620-2529-0 tis-620-2529-1 tis620",
    "cp037": "037 ebcdic-cp-ca ebcdic-cp-nl ebcdic-cp-us ebcdic-cp-wt ibm039",
    "cp424": "ebcdic-cp-he",
    "cp437": "cspc8codepage437",
    "cp500": "ebcdic-cp-be ebcdic-cp-ch",
    "cp775": "cspc775baltic",
    "cp850": "cspc850multilingual",
    "cp852": "cspcp852",
    "cp861": "cp-is",
    "cp862": "cspc862latinhebrew",
    "cp869": "cp-gr",
    "cp1125": "cp866u ruscii",
    "hp-roman8": "cp1051 cshproman8 ibm1051 r8 roman8",
    "kz1048": "kz-1048 rk1048 strk1048-2002",
    "ptcp154": "cp154 csptcp154 cyrillic-asian pt154",
    "macintosh": "mac-roman",
    "mac-greek": "macgreek",
    "mac-iceland": "maciceland",
    "mac-latin2": "mac-centeuro maccentraleurope maclatin2",
    "mac-turkish": "macturkish",
    "x-mac-cyrillic": "mac-cyrillic maccyrillic",
    "big5": "x-mac-trad-chinese",
    "big5-hkscs": "big5hkscs hkscs",
    "cp950": "950 ms950",
    "gb18030": "gb18030-2000",
    "gb2312": "euc-cn euccn eucgb2312-cn gb2312-1980 gb2312-80 x-mac-simp-chinese",
    "gbk": "936",
    "hz": "hz-gb hzgb",
    "cp932": "932 mskanji",
    "euc-jp": "u-jis ujis",
    "euc-jis-2004": "euc-jis2004 eucjis2004 jisx0213",
    "euc-jisx0213": "eucjisx0213",
    "shift_jis": "s-jis x-mac-japanese",
    "shift-jis-2004": "s-jis-2004 shiftjis2004 sjis-2004",
    "shift-jisx0213": "s-jisx0213 shiftjisx0213 sjisx0213",
    "iso-2022-jp": "iso2022-jp iso2022-jp-2 iso2022jp iso2022jp-2",
    "iso2022-jp-1": "iso2022jp-1",
    "iso2022-jp-2004": "iso-2022-jp-2004 iso2022jp-2004",
    "iso2022-jp-3": "iso-2022-jp-3 iso2022jp-3",
    "iso2022-jp-ext": "iso-2022-jp-ext iso2022jp-ext",
    "cp949": "949 ms949 uhc",
    "euc-kr": "ks-c-5601 ks-x-1001 ksx1001 x-mac-korean",
    "iso-2022-kr": "csiso2022kr iso2022-kr iso2022kr",
    "johab": "cp1361 ms1361",
}  # fmt: skip
_NUMBERED = (
    "273 424 437 500 775 850 852 855 857 858 860 861 862 863 864 865 869 1026 1125 1140 037"
).split()

OTHER_LABELS: dict[str, str] = {
    other: label
    for names in (_PYTHONS, _OTHERS)
    for label, others in names.items()
    for other in others.split()
} | {
    spelling: f"cp{number}"
    for number in _NUMBERED
    for spelling in (number, f"ibm{number}", f"ibm0{number}", f"csibm{number}")
} | {
    spelling: label
    for label, number in (
        *((f"windows-{number}", str(number)) for number in range(1250, 1259)),
        *((f"iso-8859-{part}", f"8859{part}") for part in (*range(1, 12), 13, 14, 15, 16)),
    )
    for spelling in (
        (f"iso{number}", f"iso-{number}")
        if number.startswith("8859")
        else (number, f"win{number}", f"win-{number}", f"windows{number}")
    )
}  # fmt: skip
"""Lower-case label with dashes for underscores, to the label in `CODEC_BY_LABEL`."""
