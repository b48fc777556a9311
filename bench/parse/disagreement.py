"""The comparison with feedparser in words and as JSON."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from bench.parse.agreement import MOST_EXCUSED_PERCENT, WANTED_PERCENT, Agreement, Count
from bench.parse.classes import Case

_SHOWN = 110


def is_met(found: Agreement) -> bool:
    total = found.total
    return total.percent >= WANTED_PERCENT and total.percent_excused < MOST_EXCUSED_PERCENT


def in_words(found: Agreement, examples: int) -> str:
    lines = [
        f"{found.documents} documents, {found.entries:,} entries. Compared are entries in which at"
        " least one of the two found something.\n",
        f"{'field':<12}{'compared':>9}{'equal':>8}{'excused':>9}{'against':>9}{'agreement':>11}",
        "-" * 58,
        *(_line(name, count) for name, count in found.counts.items()),
        _line("all", found.total),
        f"\nexcused: {found.total.percent_excused:.2f} % (bar < {MOST_EXCUSED_PERCENT:g} %),"
        f" agreement of the rest: {found.total.percent:.2f} % (bar ≥ {WANTED_PERCENT:g} %)",
    ]
    if found.alone:
        lines += [
            "\nDocuments with another number of entries:",
            *(f"  {one}" for one in found.alone),
        ]
    for (field, known), cases in found.cases.items():
        documents = len({case.sample.name for case in cases})
        sides = ", ".join(f"{side} {n}" for side, n in Counter(c.opinion for c in cases).items())
        lines.append(f"\n{field}: {known.what}\n  {len(cases)}× in {documents} documents")
        lines.append(f"  because: {known.because or '—'}\n  fastfeedparser's side: {sides}")
        for case in _spread(cases, examples):
            ours, theirs = _shown(case)
            lines.append(
                f"  {case.sample.name} #{case.place}\n    ours   {ours}\n    theirs {theirs}"
            )
    return "\n".join(lines)


def as_json(found: Agreement, examples: int) -> dict[str, Any]:
    return {
        "documents": found.documents,
        "entries": found.entries,
        "fields": {name: _figures(count) for name, count in found.counts.items()},
        "total": _figures(found.total),
        "other_number_of_entries": found.alone,
        "classes": [
            {
                "field": field,
                "what": known.what,
                "because": known.because,
                "cases": len(cases),
                "documents": len({case.sample.name for case in cases}),
                "examples": [
                    {"document": case.sample.name, "entry": case.place, "ours": ours, "theirs": its}
                    for case in _spread(cases, examples)
                    for ours, its in [_shown(case)]
                ],
            }
            for (field, known), cases in found.cases.items()
        ],
    }


def _line(name: str, count: Count) -> str:
    return (
        f"{name:<12}{count.compared:>9,}{count.equal:>8,}{count.excused:>9,}{count.against:>9,}"
        f"{count.percent:>9.2f} %"
    )


def _figures(count: Count) -> dict[str, float]:
    return {
        "compared": count.compared,
        "equal": count.equal,
        "excused": count.excused,
        "against": count.against,
        "percent": round(count.percent, 3),
        "percent_excused": round(count.percent_excused, 3),
    }


def _spread(cases: Sequence[Case], count: int) -> list[Case]:
    """The first of each document, so that one odd document does not hide the others."""
    return list({case.sample.name: case for case in reversed(cases)}.values())[::-1][:count]


def _shown(case: Case) -> tuple[str, str]:
    """Both answers, from shortly before they part."""
    ours, theirs = case.ours, case.theirs
    if not isinstance(ours, str) or not isinstance(theirs, str):
        only_ours = [one for one in ours if one not in theirs]
        only_theirs = [one for one in theirs if one not in ours]
        return str(only_ours or list(ours))[:_SHOWN], str(only_theirs or list(theirs))[:_SHOWN]
    shorter = min(len(ours), len(theirs))
    at = next((at for at in range(shorter) if ours[at] != theirs[at]), shorter)
    begin = max(0, at - 20)
    return repr(ours[begin : begin + _SHOWN]), repr(theirs[begin : begin + _SHOWN])
