"""What people say of a show and a tracking on the command line, as the API wants it."""

from collections.abc import Callable, Sequence
from inspect import Parameter, signature
from typing import Annotated, Any

import typer

from headwater.core.errors import BadInput
from headwater.core.values.instant import rfc3339
from headwater.entrypoints.cli.options import local_now
from headwater.entrypoints.cli.render import Record
from headwater.entrypoints.cli.times import parse_moment

WEEKDAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
NOTHING = ("none", "-")
Many = list[str] | None
_SHOW: dict[str, Any] = {
    "title": Annotated[str | None, typer.Option(help="What the show is called in the library.")],
    "year": Annotated[str | None, typer.Option(help="The year in its folder's name; or none.")],
    "season": Annotated[int | None, typer.Option(min=0, help="Which season is collected.")],
    "offset": Annotated[
        int | None, typer.Option(help="Added to the number in a title: -12 makes 13 the first.")
    ],
    "episodes": Annotated[str | None, typer.Option(help="How many the season has; or none.")],
    "names": Annotated[
        Many, typer.Option("--name", help="What its releases are called; none: all. Repeatable.")
    ],
    "specials": Annotated[
        Many, typer.Option("--special", help="12.5=1, OVA1=2: its number in Season 00. Repeatable.")
    ],
    "kind": Annotated[str | None, typer.Option(help="Movie, OVA, OAD, ONA, SP, TV; or none.")],
    "weekday": Annotated[
        str | None, typer.Option(help="When it airs in Japan: mon, tue, …; or none.")
    ],
}
_TRACKING: dict[str, Any] = {
    "groups": Annotated[
        Many, typer.Option("--group", help="Release groups, the best first. Repeatable.")
    ],
    "aliases": Annotated[
        Many, typer.Option("--alias", help="OTHER=GROUP: another name of it. Repeatable.")
    ],
    "subtitles": Annotated[
        Many, typer.Option(help="Subtitles, the best first: 简日, 繁, CHS+JPN. Repeatable.")
    ],
    "further": Annotated[
        Many, typer.Option(help="resolution, source, version: what counts next. Repeatable.")
    ],
    "resolutions": Annotated[
        Many, typer.Option("--resolution", help="With --further: the best first. Repeatable.")
    ],
    "sources": Annotated[
        Many, typer.Option("--source", help="With --further: such as BD, WEB-DL. Repeatable.")
    ],
    "stop_group": Annotated[
        str | None, typer.Option(help="Good enough: nothing replaces this group's; or none.")
    ],
    "stop_subtitles": Annotated[
        str | None, typer.Option(help="Good enough: nothing replaces these; or none.")
    ],
    "include": Annotated[
        Many, typer.Option(help="RE2: only titles that match one of these. Repeatable.")
    ],
    "exclude": Annotated[Many, typer.Option(help="RE2: no titles that match. Repeatable.")],
    "packs": Annotated[bool | None, typer.Option("--packs/--no-packs", help="Collect packs too.")],
    "save_path": Annotated[
        str | None, typer.Option(help="A folder below the library; '' is the library itself.")
    ],
    "since": Annotated[
        str | None, typer.Option(help="Only what came out later: 3d, 2026-03-01; or none: all.")
    ],
}


def add_options(
    *families: dict[str, Any],
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Gives a command the options of these families; it gets what was said in `said`."""
    options = {name: kind for family in families for name, kind in family.items()}

    def with_options(command: Callable[..., None]) -> Callable[..., None]:
        def asked(**given: Any) -> None:
            said = {name: given.pop(name) for name in options}
            command(**given, said={name: each for name, each in said.items() if each is not None})

        own = [each for each in signature(command).parameters.values() if each.name != "said"]
        added = [
            Parameter(name, Parameter.KEYWORD_ONLY, default=None, annotation=kind)
            for name, kind in options.items()
        ]
        parameters = [each.replace(kind=Parameter.KEYWORD_ONLY) for each in own]
        asked.__signature__ = signature(command).replace(  # type: ignore[attr-defined]
            parameters=[*parameters, *added]
        )
        asked.__doc__, asked.__name__ = command.__doc__, command.__name__
        return asked

    return with_options


with_show_options = add_options(_SHOW)
with_tracking_options = add_options(_TRACKING)
with_all_options = add_options(_SHOW, _TRACKING)


def show_body(said: Record) -> Record:
    """The body of a show: only what was said."""
    body: Record = {name: said[name] for name in ("title", "season") if name in said}
    for name in ("year", "episodes"):
        if name in said:
            body[name] = None if said[name] in NOTHING else _parse_number(name, said[name])
    if "offset" in said:
        body["episode_offset"] = said["offset"]
    if "names" in said:
        body["titles"] = _listed(said["names"])
    if "specials" in said:
        body["specials"] = dict(map(_parse_special, _listed(said["specials"])))
    if "kind" in said:
        body["kind"] = None if said["kind"] in NOTHING else _parse_kind(said["kind"])
    if "weekday" in said:
        body["air_weekday"] = (
            None if said["weekday"] in NOTHING else _parse_weekday(said["weekday"])
        )
    return body


def tracking_body(said: Record) -> Record:
    """The body of a tracking: only what was said. `none` empties a list."""
    body: Record = {name: said[name] for name in ("packs", "save_path") if name in said}
    for name in ("include", "exclude"):
        if name in said:
            body[name] = _listed(said[name])
    if "since" in said:
        body["since"] = _parse_since(said["since"])
    preferences = _preferences_body(said)
    return body | ({"preferences": preferences} if preferences else {})


def _preferences_body(said: Record) -> Record:
    lists = ("groups", "subtitles", "further", "resolutions", "sources")
    body: Record = {name: _listed(said[name]) for name in lists if name in said}
    if "aliases" in said:
        body["aliases"] = dict(map(_parse_alias, _listed(said["aliases"])))
    if "stop_group" in said or "stop_subtitles" in said:
        line = {name: said.get(f"stop_{name}") for name in ("group", "subtitles")}
        stop = {name: word for name, word in line.items() if word not in (None, *NOTHING)}
        body["stop"] = stop or None
    return body


def weekday_in_words(number: int | None) -> str | None:
    return None if number is None else WEEKDAYS[number]


def _listed(given: Sequence[str]) -> list[Any]:
    return [] if len(given) == 1 and given[0] in NOTHING else list(given)


def _parse_number(name: str, text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        raise BadInput(f"--{name} is a number, or none.", given=text)
    return int(text)


def _parse_kind(text: str) -> str:
    """However it is written; the API names those that there are."""
    return "Movie" if text.casefold() in ("movie", "film") else text.upper()


def _parse_weekday(text: str) -> int:
    day = text.strip().lower()[:3]
    if day not in WEEKDAYS:
        raise BadInput(f"--weekday is one of {', '.join(WEEKDAYS)}, or none.", given=text)
    return WEEKDAYS.index(day)


def _parse_since(text: str) -> str | None:
    return None if text in NOTHING else rfc3339(parse_moment(text, local_now()))


def _parse_special(text: str) -> tuple[str, int]:
    label, equals, number = text.partition("=")
    if not equals or not label.strip():
        raise BadInput("--special is WHAT=NUMBER, such as 12.5=1 or OVA1=2.", given=text)
    return label.strip(), _parse_number("special", number.strip())


def _parse_alias(text: str) -> tuple[str, str]:
    other, equals, name = text.partition("=")
    if not equals or not other.strip() or not name.strip():
        raise BadInput("--alias is OTHER=GROUP: another name, and the group's own.", given=text)
    return other.strip(), name.strip()
