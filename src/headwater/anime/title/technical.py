"""Step 8 of reading a title: the technical fields, from resolution and codecs to subtitles."""

from headwater.anime.release import Subtitle
from headwater.anime.subtitles import subtitles_by_code, subtitles_by_label, subtitles_in_bracket
from headwater.anime.title.draft import TitleDraft
from headwater.anime.title.layout import Layout
from headwater.anime.title.names import TitleSpan
from headwater.anime.title.number_patterns import MASKED
from headwater.anime.title.roles import BracketRole
from headwater.anime.title.terms import (
    INFOHASH,
    TECHNICAL_WORD,
    is_technical,
    resolution_of,
    strong_words,
    weak_words,
)

_SHOWN_BY_PLATFORM = {"baha": Subtitle.TRADITIONAL, "bahamut": Subtitle.TRADITIONAL}
"""The subtitles that a platform always shows: Bahamut has traditional Chinese ones only."""
_CODECS = {"video": "video_codec", "audio": "audio_codec"}
_NOTHING = f"{MASKED} -"
_SHORTEST_INFOHASH = 40


def read_technical(draft: TitleDraft, suffix: str) -> None:
    """Read all technical fields, outside the group and the names.

    `suffix` is the language at the end of a subtitle file's name.
    """
    around = _masked(draft.layout, draft.regions)
    _read_strong(draft, around)
    for segment, role in zip(draft.layout.segments, draft.layout.roles, strict=True):
        content = around[segment.start : segment.end]
        if role is BracketRole.TECHNICAL:
            _read_weak(draft, segment.start, content)
            own = draft.layout.text[segment.start : segment.end]
            _add_subtitles(draft, subtitles_in_bracket(content), own, "subtitle label")
        elif role is BracketRole.CHECKSUM and not content.startswith(MASKED):
            checksum = draft.layout.text[segment.start : segment.end].strip()
            draft.set_field("checksum", checksum, checksum, "checksum")
        elif role is None and content.strip(_NOTHING):
            _read_free(draft, segment.start, content)
    if suffix:
        _add_subtitles(draft, subtitles_by_code(suffix), suffix, "language of the file")
    _infer_subtitles(draft)
    if len(around) >= _SHORTEST_INFOHASH and (match := INFOHASH.search(around)) is not None:
        draft.set_field("infohash", match.group(), match.group(), "infohash")


def _masked(layout: Layout, names: list[TitleSpan]) -> str:
    masked = layout.folded
    group = [(layout.group.start, layout.group.end)] if layout.group else []
    for start, end in group + names:
        masked = masked[:start] + MASKED * (end - start) + masked[end:]
    return masked


def _read_strong(draft: TitleDraft, around: str) -> None:
    for segment, role in zip(draft.layout.segments, draft.layout.roles, strict=True):
        if role is not None and role is not BracketRole.TECHNICAL:
            continue  # A bracket with a strong word is technical: the others have none.
        content = around[segment.start : segment.end]
        for kind, start, end in strong_words(content):
            word = draft.layout.text[segment.start + start : segment.start + end]
            if kind == "resolution":
                _set_resolution(draft, content[start:end], word)
            elif kind == "source":
                _set_once(draft, "source", word, word)
            else:
                _add_codec(draft, _CODECS[kind or "video"], word)


def _read_weak(draft: TitleDraft, at: int, content: str) -> None:
    for kind, start, end in weak_words(content):
        if kind is None and end - start != len(content):
            continue
        word = draft.layout.text[at + start : at + end]
        if kind in ("source", "platform"):
            _set_once(draft, kind, word, word)
        elif kind == "container":
            _set_once(draft, "container", content[start:end], word)
        elif kind in ("video", "audio"):
            _add_codec(draft, _CODECS[kind], word)
        elif kind in ("resolution", None):
            _set_resolution(draft, content[start:end], word)


def _read_free(draft: TitleDraft, start: int, content: str) -> None:
    """Free text may name subtitles too, but only certain codes count there."""
    own = draft.layout.text[start : start + len(content)]
    technical = TECHNICAL_WORD.search(content)
    after = draft.numbering.end - start if draft.numbering else 0
    if technical is not None:
        _read_weak(draft, start + technical.start(), content[technical.start() :])
    elif 0 < after < len(content) and is_technical(content[after:].strip(_NOTHING + ".")):
        _read_weak(draft, start + after, content[after:])
    _add_subtitles(
        draft, subtitles_by_code(content, certain_only=True), own, "code outside brackets"
    )
    _add_subtitles(draft, subtitles_by_label(content), own, "label outside brackets")


def _set_once(draft: TitleDraft, name: str, value: str, own: str) -> None:
    if name not in draft.fields:
        draft.set_field(name, value, own, name)


def _set_resolution(draft: TitleDraft, word: str, own: str) -> None:
    if "resolution" not in draft.fields and (resolution := resolution_of(word)) is not None:
        draft.set_field("resolution", resolution, own, "resolution")


def _add_codec(draft: TitleDraft, name: str, word: str) -> None:
    codecs: tuple[str, ...] = draft.fields.get(name, ())
    if word not in codecs:
        draft.set_field(name, (*codecs, word), word, name.replace("_", " "))


def _add_subtitles(draft: TitleDraft, languages: frozenset[Subtitle], own: str, rule: str) -> None:
    if not languages:
        return
    subtitles: frozenset[Subtitle] = draft.fields.get("subtitles", frozenset())
    if languages - subtitles:
        draft.set_field("subtitles", subtitles | languages, own, rule)


def _infer_subtitles(draft: TitleDraft) -> None:
    platform = draft.fields.get("platform")
    if platform is not None and "subtitles" not in draft.fields:
        shown = _SHOWN_BY_PLATFORM.get(platform.lower())
        if shown is not None:
            draft.set_field("subtitles", frozenset((shown,)), platform, "what the platform shows")
