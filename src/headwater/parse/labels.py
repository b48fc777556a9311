"""Other names of the charsets we read: those of the Encoding standard, and a few from the wild."""

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

OTHER_LABELS: dict[str, str] = {
    other: label for label, others in _OTHERS.items() for other in others.split()
} | {
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
"""Lower-case label with dashes for underscores, to the label in `CODECS`."""
