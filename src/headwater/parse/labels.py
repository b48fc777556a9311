"""Other names of the charsets we read: those of the Encoding standard, of Python, of the wild."""

from encodings.aliases import aliases


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
"""Charsets in which no letter is ASCII's, by label."""

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

# Python's codec to our label, where that is not the codec's own name.
_LABELS = {
    "ascii": "us-ascii", "latin_1": "iso-8859-1", "mac_roman": "macintosh",
    "mac_cyrillic": "x-mac-cyrillic", "big5hkscs": "big5-hkscs", "shift_jis": "shift_jis",
    "iso2022_jp": "iso-2022-jp", "iso2022_jp_2": "iso-2022-jp", "iso2022_kr": "iso-2022-kr",
    "utf_16_le": "utf-16le", "utf_16_be": "utf-16be", "utf_32_le": "utf-32le",
    "utf_32_be": "utf-32be",
} | {
    codec: codec.replace("_", "-")
    for codec in (
        "big5 cp437 cp850 cp852 cp866 cp932 cp949 cp950 euc_jp euc_kr gb18030 gb2312 gbk hz johab "
        "koi8_r koi8_u tis_620 utf_16 utf_32 utf_8"
    ).split()
} | {
    codec: label
    for rare in (RARE_SINGLE_BYTE, RARE_MANY_BYTES, RARE_STATEFUL, EBCDIC)
    for label, codec in rare.items()
} | {
    f"cp{number}": f"windows-{number}" for number in (874, *range(1250, 1259))
} | {
    f"iso8859_{part}": f"iso-8859-{part}" for part in (*range(1, 12), 13, 14, 15, 16)
}  # fmt: skip

# Only names of codecs that are listed above: what Python may learn besides is not used.
OTHER_LABELS: dict[str, str] = (
    {
        name.replace("_", "-"): _LABELS[codec]
        for name, codec in (*aliases.items(), *((codec, codec) for codec in _LABELS))
        if codec in _LABELS
    }
    | {other: label for label, others in _OTHERS.items() for other in others.split()}
    | {
        spelling: label
        for label, number in (
            *((f"windows-{number}", str(number)) for number in range(1250, 1259)),
            *((f"iso-8859-{part}", f"8859{part}") for part in (*range(1, 12), 13, 14, 15, 16)),
        )
        for spelling in (
            (f"iso{number}", f"iso-{number}")
            if number.startswith("8859")
            else (f"win{number}", f"win-{number}", f"windows{number}")
        )
    }
)
"""Lower-case label with dashes for underscores, to the label in `CODECS`."""
