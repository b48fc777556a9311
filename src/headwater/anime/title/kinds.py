"""For step 7 of reading a title: the kinds, such as film, OVA, special or creditless opening."""

import re

from headwater.anime.release import ReleaseKind

_BESIDES = r"(?<![+&])(?<![+&] )"
"""A kind that a pack also holds is not the kind of the pack: `01-12 + OVA`, `TV+SP`."""
_KIND = re.compile(
    rf"{_BESIDES}(?:"
    r"(?<![a-z])(?:"
    r"(?P<ncop>ncop|creditless op(?:ening)?)|(?P<nced>nced|creditless e(?:d|nding))|(?P<ova>ovas?)"
    r"|(?P<oad>oads?)|(?P<ona>onas?)|(?P<movie>movies?|gekijouban|film)"
    r"|(?P<sp>sps?|tvsp|specials?|ex(?=\d))|(?P<menu>menus?)|(?P<pv>pvs?|preview|trailer|teaser)"
    r"|(?P<cm>cms?)|(?P<ost>ost|soundtrack)|(?P<op>op)|(?P<ed>ed)|(?P<tv>tv)"
    r")(?![a-uw-z]|v(?!\d))"
    r"|(?P<movie2>[剧劇][场場]版|映画|[电電]影)|(?P<sp2>特典|特[别別][篇编編]|番外|[总總]集篇|総集編)"
    r"|(?P<pv2>预告|預告|予告|先导|先導))"
)
_BY_GROUP = {
    "ncop": ReleaseKind.CREDITLESS_OPENING, "nced": ReleaseKind.CREDITLESS_ENDING,
    "ova": ReleaseKind.OVA, "oad": ReleaseKind.OAD, "ona": ReleaseKind.ONA,
    "movie": ReleaseKind.MOVIE, "movie2": ReleaseKind.MOVIE, "sp": ReleaseKind.SPECIAL,
    "sp2": ReleaseKind.SPECIAL, "menu": ReleaseKind.MENU, "pv": ReleaseKind.PREVIEW,
    "pv2": ReleaseKind.PREVIEW, "cm": ReleaseKind.COMMERCIAL, "ost": ReleaseKind.SOUNDTRACK,
    "op": ReleaseKind.OPENING, "ed": ReleaseKind.ENDING, "tv": ReleaseKind.TV,
}  # fmt: skip


_LAST = r"(?= *(?:$|[\x1f\d]))"
"""The number after the word may have been taken out of the name already, or still stand there."""
_IN_NAMES = re.compile(
    rf"{_BESIDES}(?:"
    r"(?<![a-z])(?:(?P<ncop>ncop|creditless op(?:ening)?)|(?P<nced>nced|creditless e(?:d|nding))"
    r"|(?P<ova>ovas?)|(?P<oad>oads?)|(?P<ona>onas?)|(?P<movie>movies?|gekijouban)"
    rf"|(?P<cm>cm(?=\d)|(?<=- )cms?{_LAST})|(?P<menu>(?<=- )menus?{_LAST})"
    rf"|(?P<pv>pv(?=\d)|(?<=[ -])pvs?{_LAST}|(?<=- )(?:preview|trailer|teaser){_LAST}))"
    r"(?![a-uw-z]|v(?!\d))|(?P<movie2>[剧劇][场場]版|映画|[电電]影)"
    rf"|(?P<pv2>(?<=[ -])(?:次回)?[预預予]告{_LAST})"
    r"|(?P<sp2>(?<=[ -])(?:特[别別][篇编編]|specials?)(?= *(?:$|\x1f))))"
)
"""Words that are hardly ever part of a name."""
_SPECIAL_LAST = re.compile(r"(?:特[别別][篇编編]|番外篇?)(?= *(?:$|\x1f))")
"""Without a number it is one special; with a number a show may well be called so."""


def kind_in(text: str) -> tuple[ReleaseKind, str] | None:
    """The first kind that the text names, and its word; TV only if the text names no other."""
    television: tuple[ReleaseKind, str] | None = None
    for match in _KIND.finditer(text):
        kind = _BY_GROUP[match.lastgroup or "tv"]
        if kind is not ReleaseKind.TV:
            return kind, match.group()
        television = television or (kind, match.group())
    return television


def kind_in_name(name: str, *, numbered: bool) -> tuple[ReleaseKind, str] | None:
    """The kind that a name holds, where the word is hardly part of the name itself."""
    if (match := _IN_NAMES.search(name)) is not None:
        return _BY_GROUP[match.lastgroup or "tv"], match.group()
    special = None if numbered else _SPECIAL_LAST.search(name)
    return (ReleaseKind.SPECIAL, special.group()) if special else None
