"""Templates of paths: fields in braces, optional parts between < and >. Checked when saved."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from headwater.anime.naming.safe_path import safe_text
from headwater.core.errors import BadInput

LONGEST_TEMPLATE = 512
MOST_PARTS = 8
MOST_DIGITS = 4

FIELDS = (
    "title",
    "year",
    "season",
    "episode",
    "half",
    "part",
    "groups",
    "resolution",
    "source",
    "subtitles",
    "version",
    "kind",
)

_PIECE = re.compile(r"\{([^{}]*)\}|([<>])|([^{}<>]+)|([{}])")
_FIELD = re.compile(r"([a-z]+)(?::0?([1-9]))?")
_IN_BRACES = re.compile(r"\{[^{}]*\}")
_FORBIDDEN = re.compile(r'[\x00-\x1f\x7f:*?"|\\]')


class BadTemplate(BadInput):
    """Facts: `template`."""

    code = "bad_template"


class PaddedNumber(Protocol):
    """A value that is written with as many digits as a template asks for."""

    def padded(self, width: int) -> str: ...


TemplateValue = str | int | PaddedNumber | None


@dataclass(frozen=True, slots=True)
class _LiteralText:
    text: str


@dataclass(frozen=True, slots=True)
class _Field:
    name: str
    width: int


@dataclass(frozen=True, slots=True)
class _OptionalPart:
    """Written only when all of its fields have values."""

    pieces: tuple[_LiteralText | _Field, ...]


_TemplatePiece = _LiteralText | _Field | _OptionalPart


@dataclass(frozen=True, slots=True)
class Template:
    """The parts of a path in order; the last is the name of the file, without extension."""

    text: str
    parts: tuple[tuple[_TemplatePiece, ...], ...]

    def rendered(self, values: Mapping[str, TemplateValue]) -> tuple[str, ...]:
        """The parts as text: a value can never start a part of its own."""
        return tuple("".join(_render_piece(piece, values) for piece in part) for part in self.parts)


def _render_piece(piece: _TemplatePiece, values: Mapping[str, TemplateValue]) -> str:
    if isinstance(piece, _LiteralText):
        return piece.text
    if isinstance(piece, _OptionalPart):
        fields = [field for field in piece.pieces if isinstance(field, _Field)]
        if not all(_render_field(field, values) for field in fields):
            return ""
        return "".join(_render_piece(inner, values) for inner in piece.pieces)
    return _render_field(piece, values)


def _render_field(field: _Field, values: Mapping[str, TemplateValue]) -> str:
    value = values.get(field.name)
    if value is None:
        return ""
    if isinstance(value, str):
        return safe_text(value)
    return f"{value:0{field.width}}" if isinstance(value, int) else value.padded(field.width)


def parse_template(text: str, *, needs: tuple[str, ...]) -> Template:
    """BadTemplate names the mistake. `needs` are fields without which two files would be one: they
    must stand where they are always written."""
    if not text.strip() or len(text) > LONGEST_TEMPLATE:
        raise BadTemplate(
            f"A template has 1 to {LONGEST_TEMPLATE} characters.", template=text[:100]
        )
    # Inside of a field a colon stands before its width; outside, Windows would not have it.
    if forbidden := _FORBIDDEN.search(_IN_BRACES.sub("", text)):
        raise BadTemplate(f"{forbidden[0]!r} cannot stand in a path everywhere.", template=text)
    parts = tuple(_parse_part(part, text) for part in _split(text))
    if len(parts) > MOST_PARTS:
        raise BadTemplate(f"A template has at most {MOST_PARTS} parts.", template=text)
    always = {piece.name for part in parts for piece in part if isinstance(piece, _Field)}
    for field in needs:
        if field not in always:
            raise BadTemplate(f"The template needs {{{field}}}, outside of < and >.", template=text)
    return Template(text, parts)


def _split(text: str) -> list[str]:
    parts = text.split("/")
    for part in parts:
        plain = part.strip()
        if plain in ("", ".", ".."):
            raise BadTemplate("A part of the template is empty, . or ..", template=text)
        if plain.startswith("~"):
            raise BadTemplate("A part of the template begins with ~.", template=text)
    return parts


def _parse_part(part: str, whole: str) -> tuple[_TemplatePiece, ...]:
    pieces: list[_TemplatePiece] = []
    inner: list[_LiteralText | _Field] | None = None
    for match in _PIECE.finditer(part):
        field, mark, words, brace = match.groups()
        if brace:
            raise BadTemplate("A brace is not closed, or not opened.", template=whole)
        if mark == "<" and inner is None:
            inner = []
        elif mark == ">" and inner is not None:
            if not any(isinstance(piece, _Field) for piece in inner):
                raise BadTemplate("Nothing between < and > can be missing.", template=whole)
            pieces.append(_OptionalPart(tuple(inner)))
            inner = None
        elif mark:
            raise BadTemplate("< and > do not match, or stand inside each other.", template=whole)
        else:
            piece = _LiteralText(words) if field is None else _parse_field(field, whole)
            (pieces if inner is None else inner).append(piece)
    if inner is not None:
        raise BadTemplate("A < is not closed in the same part.", template=whole)
    return tuple(pieces)


def _parse_field(text: str, whole: str) -> _Field:
    match = _FIELD.fullmatch(text)
    if match is None or match[1] not in FIELDS:
        raise BadTemplate(
            f"{{{text}}} is no field. Fields are {', '.join(FIELDS)}.", template=whole
        )
    width = int(match[2] or 1)
    if width > MOST_DIGITS:
        raise BadTemplate(f"A number has at most {MOST_DIGITS} digits.", template=whole)
    return _Field(match[1], width)
