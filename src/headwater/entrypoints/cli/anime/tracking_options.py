"""Options of shows and trackings on the command line, and the bodies they make for the API."""

from collections.abc import Callable
from inspect import Parameter, signature
from typing import Annotated, Any

import typer

from headwater.core.errors import BadInput
from headwater.core.values.instant import rfc3339
from headwater.entrypoints.cli.command import set_signature
from headwater.entrypoints.cli.render import Record
from headwater.entrypoints.cli.session import Session
from headwater.entrypoints.cli.times import local_now, parse_moment

WEEKDAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
NOTHING = ("none", "-")
Many = list[str] | None
TrackingArgument = Annotated[
    str, typer.Argument(metavar="TRACKING", help="Its number, or the title of its show.")
]
_SHOW: dict[str, Any] = {
    "title": Annotated[str | None, typer.Option(help="The name of the show in the library.")],
    "year": Annotated[str | None, typer.Option(help="The year in its folder's name; or none.")],
    "season": Annotated[int | None, typer.Option(min=0, help="Which season is collected.")],
    "offset": Annotated[
        int | None, typer.Option(help="Added to the number in a title: -12 makes 13 the first.")
    ],
    "episodes": Annotated[str | None, typer.Option(help="How many the season has; or none.")],
    "names": Annotated[
        Many, typer.Option("--name", help="A title of its releases; none: all. Repeatable.")
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
    """Give a command the options of these families. It gets those that were used in `options`."""
    added = {name: annotation for family in families for name, annotation in family.items()}

    def with_options(command: Callable[..., None]) -> Callable[..., None]:
        def run(session: Session, **arguments: Any) -> None:
            options = {name: arguments.pop(name) for name in added}
            used = {name: value for name, value in options.items() if value is not None}
            command(session, **arguments, options=used)

        own = signature(command).parameters.values()
        parameters = [
            *(parameter for parameter in own if parameter.name != "options"),
            *(
                Parameter(name, Parameter.KEYWORD_ONLY, default=None, annotation=annotation)
                for name, annotation in added.items()
            ),
        ]
        set_signature(run, command, parameters)
        return run

    return with_options


with_tracking_options = add_options(_TRACKING)
with_all_options = add_options(_SHOW, _TRACKING)


def show_body(options: Record) -> Record:
    """The body of a show: only the options that were used."""
    body: Record = {name: options[name] for name in ("title", "season") if name in options}
    for name in ("year", "episodes"):
        if name in options:
            body[name] = None if options[name] in NOTHING else _parse_number(name, options[name])
    if "offset" in options:
        body["episode_offset"] = options["offset"]
    if "names" in options:
        body["titles"] = _list_or_none(options["names"])
    if "specials" in options:
        body["specials"] = dict(map(_parse_special, _list_or_none(options["specials"])))
    if "kind" in options:
        body["kind"] = None if options["kind"] in NOTHING else _parse_kind(options["kind"])
    if "weekday" in options:
        body["air_weekday"] = (
            None if options["weekday"] in NOTHING else _parse_weekday(options["weekday"])
        )
    return body


def tracking_body(options: Record) -> Record:
    """The body of a tracking: only the options that were used. `none` empties a list."""
    body: Record = {name: options[name] for name in ("packs", "save_path") if name in options}
    for name in ("include", "exclude"):
        if name in options:
            body[name] = _list_or_none(options[name])
    if "since" in options:
        since = options["since"]
        body["since"] = None if since in NOTHING else rfc3339(parse_moment(since, local_now()))
    preferences = _preferences_body(options)
    return body | ({"preferences": preferences} if preferences else {})


def _preferences_body(options: Record) -> Record:
    lists = ("groups", "subtitles", "further", "resolutions", "sources")
    body: Record = {name: _list_or_none(options[name]) for name in lists if name in options}
    if "aliases" in options:
        body["aliases"] = dict(map(_parse_alias, _list_or_none(options["aliases"])))
    if "stop_group" in options or "stop_subtitles" in options:
        words = {name: options.get(f"stop_{name}") for name in ("group", "subtitles")}
        stop = {name: word for name, word in words.items() if word not in (None, *NOTHING)}
        body["stop"] = stop or None
    return body


def weekday_in_words(number: int | None) -> str | None:
    return None if number is None else WEEKDAYS[number]


def _list_or_none(words: list[str]) -> list[Any]:
    return [] if len(words) == 1 and words[0] in NOTHING else list(words)


def _parse_number(name: str, text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        raise BadInput(f"--{name} is a number, or none.", given=text)
    return int(text)


def _parse_kind(text: str) -> str:
    """Accept any spelling. The API refuses an unknown kind, and names those that exist."""
    return "Movie" if text.casefold() in ("movie", "film") else text.upper()


def _parse_weekday(text: str) -> int:
    day = text.strip().lower()[:3]
    if day not in WEEKDAYS:
        raise BadInput(f"--weekday is one of {', '.join(WEEKDAYS)}, or none.", given=text)
    return WEEKDAYS.index(day)


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
