"""Step 9 of reading a title: is it a pack of episodes or the last one, and the episode's title."""

import re

from headwater.anime.release import ReleaseKind
from headwater.anime.scripts import HAN_LETTERS
from headwater.anime.title.draft import TitleDraft
from headwater.anime.title.episode import Numbering
from headwater.anime.title.layout import Layout
from headwater.anime.title.number_patterns import MASKED
from headwater.anime.title.season_marks import season_marks
from headwater.anime.title.terms import TECHNICAL_WORD, is_technical

_PACK = re.compile(
    r"合集|全集|全套|[话話集回]全|[全共] ?(?:\d{1,4}|[一二三四五六七八九十百]{1,4}) ?[话話集回]"
    r"|(?<![a-z])(?:batch|complete)(?![a-z])|(?:tv|(?<![a-z])s\d{1,2}|season \d{1,2}) ?\+ ?[a-z]"
    r"|vol\.? ?\d{1,2} ?[-~] ?(?:vol\.? ?)?\d"
    r"|tv ?[动動][画畫] ?(?:\([^()]{0,20}\) ?)?\+"
)
_WITH_MORE = re.compile(r"\+ ?(?:ovas?|oads?|sps?|specials?|movies?)(?![a-z])")
"""Further content of a pack: `Name + OVA`."""
_WHOLE = re.compile(rf"(?<![a-z])batch(?![a-z])|合集|全集|{_WITH_MORE.pattern}")
_AT_START = "number at the start"
_SIGNLESS = frozenset(("last number", "number among words", _AT_START))
_COUNTED = re.compile(r" *(?:0\d(?!\d)|\d+ ?(?:end|fin)(?![a-z]))")
"""Nobody calls a show `01`; and an end is an episode's."""
_FINAL = re.compile(rf"(?<![a-z])(?:end|fin)(?![a-z])|完[结結]|[完終终](?![{HAN_LETTERS}])")
_SIGN = re.compile(r"[^\W\d_]")
_EDGES = " -_.~:|「」『』"
_SHORTEST_NAME = 2


def read_pack(draft: TitleDraft) -> None:
    """Read `batch`, `final` and `episode_title`."""
    numbering = draft.numbering
    if numbering is None:
        _read_pack_without_number(draft)
        return
    written = draft.layout.text[numbering.start : numbering.end]
    if numbering.episode_end is not None or numbering.pack:
        draft.set_field("batch", True, written, "range of episodes")
        return
    if numbering.final:
        draft.set_field("final", True, written, "end mark")
    elif (mark := _FINAL.search(_brackets_after_names(draft))) is not None:
        draft.set_field("final", True, mark.group(), "end mark")
    _read_episode_title(draft)


def names_a_pack(layout: Layout) -> bool:
    """Whether a title has a word for a batch."""
    return _PACK.search(layout.folded, layout.begin) is not None


def is_part_of_name(layout: Layout, numbering: Numbering) -> bool:
    """Whether a number without any sign of an episode belongs to the name of a pack:
    `Name 100 (Batch)`, `86 - Name (Seasons 1-2)`."""
    if (
        numbering.rule not in _SIGNLESS
        or numbering.episode_end is not None
        or numbering.version is not None
    ):
        return False
    if numbering.rule != _AT_START and _COUNTED.match(layout.folded, numbering.start) is not None:
        return False
    if _WHOLE.search(layout.folded, numbering.end) is not None:
        return True
    return any(mark.season_end is not None for mark in season_marks(layout.folded, numbering.end))


def _read_pack_without_number(draft: TitleDraft) -> None:
    """A title without a number is a batch if it has a word for it, or a season but no other kind.

    Further content or an end mark makes it one too, unless it is a film.
    """
    word = _PACK.search(draft.layout.folded, draft.layout.begin)
    if word is not None:
        draft.set_field("batch", True, word.group(), "word for a batch")
    elif "season_end" in draft.fields:
        draft.set_field("batch", True, draft.layout.text, "several seasons")
    elif "season" in draft.fields and draft.fields.get("kind") in (None, ReleaseKind.TV):
        draft.set_field("batch", True, draft.layout.text, "season without an episode")
    elif draft.fields.get("kind") is ReleaseKind.MOVIE:
        return
    elif (more := _WITH_MORE.search(draft.layout.folded, draft.layout.begin)) is not None:
        draft.set_field("batch", True, more.group(), "something beside it")
    elif (mark := _FINAL.search(_brackets_after_names(draft))) is not None:
        draft.set_field("batch", True, mark.group(), "end mark without an episode")


def _brackets_after_names(draft: TitleDraft) -> str:
    layout = draft.layout
    after = max((end for _, end in draft.regions), default=layout.begin)
    return MASKED.join(
        layout.folded[segment.start : segment.end]
        for segment in layout.segments
        if segment.inside and segment.start >= after
    )


def _read_episode_title(draft: TitleDraft) -> None:
    numbering, line = draft.numbering, draft.layout.line
    if numbering is None:
        return
    end = min(
        (
            place
            for mark in (MASKED, "[", "]", "(", ")", "★")
            if (place := line.find(mark, numbering.end)) >= 0
        ),
        default=len(line),
    )
    if (technical := TECHNICAL_WORD.search(line, numbering.end, end)) is not None:
        end = technical.start()
    if any(start >= numbering.end for start, _ in draft.regions):
        return
    title = draft.layout.text[numbering.end : end].replace("_", " ").strip(_EDGES)
    if len(title) >= _SHORTEST_NAME and _SIGN.search(title) and not is_technical(title.lower()):
        draft.set_field("episode_title", title, title, "words after the number")
