"""Zone names met in dates, as minutes east of UTC."""

_HOURS: dict[str, float] = {
    "ut": 0, "utc": 0, "gmt": 0, "z": 0, "wet": 0, "west": 1, "bst": 1, "ist": 5.5,
    "adt": -3, "ast": -4, "at": -4, "edt": -4, "est": -5, "et": -5, "cdt": -5, "cst": -6,
    "ct": -6, "mdt": -6, "mst": -7, "mt": -7, "pdt": -7, "pst": -8, "pt": -8,
    "akdt": -8, "akst": -9, "hadt": -9, "hast": -10, "hst": -10, "hdt": -9,
    "ndt": -2.5, "nst": -3.5, "brt": -3, "brst": -2, "art": -3, "clt": -4, "clst": -3,
    "met": 1, "mest": 2, "cet": 1, "cest": 2, "mez": 1, "mesz": 2, "eet": 2, "eest": 3,
    "msk": 3, "msd": 4, "trt": 3, "gst": 4, "pkt": 5, "npt": 5.75, "bdt": 6, "ict": 7, "wib": 7,
    "wita": 8, "wit": 9, "hkt": 8, "sgt": 8, "myt": 8, "pht": 8, "awst": 8, "jst": 9, "kst": 9,
    "acst": 9.5, "acdt": 10.5, "aest": 10, "aedt": 11, "nzst": 12, "nzdt": 13, "sast": 2,
    "cat": 2, "eat": 3, "wat": 1,
    "a": -1, "n": 1, "m": -12, "y": 12,
}  # fmt: skip

ZONES: dict[str, int] = {name: int(hours * 60) for name, hours in _HOURS.items()}
"""Lower-case zone name to minutes. A name that is not here counts as UTC, as peers do."""
