"""Which reader and which token a person means: a name, an id, or how the token begins."""

from typing import Any
from uuid import UUID

from headwater.entrypoints.cli.exits import Refused
from headwater.entrypoints.cli.meant import SeveralMeant, path
from headwater.entrypoints.cli.session import Api
from headwater.entrypoints.cli.terminal import one_line
from headwater.errors import BadInput, NotFound

Record = dict[str, Any]

SHORTEST_PART = 4


def reader_meant(api: Api, text: str) -> Record:
    """By id when it is a UUID, else by exact name, else by the id that another tool gave."""
    if _is_uuid(text):
        return _by_id(api, text)
    named = api.get("/readers", name=text)["readers"]
    return dict(named[0]) if named else _by_id(api, text)


def token_meant(reader: Record, tokens: list[Record], text: str | None) -> Record:
    """Without a text: the only one that is open. What was typed is not repeated: it may be the
    token itself."""
    if text is None:
        fitting = [each for each in tokens if each["state"] == "open"]
        hint = "Name it: `headwater readers tokens` shows them."
    else:
        fitting = [each for each in tokens if _fits(each, text)]
        hint = "`headwater readers tokens` shows them all."
    if len(fitting) == 1:
        return fitting[0]
    name = one_line(reader["name"])
    if not fitting:
        raise NotFound(f"{name} has no such token. {hint}", reader_id=reader["id"])
    lines = [f"  {each['id']}  {each['hint']}…  {each['state']}" for each in fitting]
    raise SeveralMeant(
        "\n".join([f"{name} has {len(fitting)} tokens that fit; say which:", *lines]),
        candidates=[each["id"] for each in fitting],
    )


def _by_id(api: Api, text: str) -> Record:
    # A path cannot say these: no route would be meant, or another one.
    if text in {"", ".", ".."} or "/" in text:
        raise _nobody(text)
    try:
        found: Record = api.get(path("readers", text))
    except Refused as refusal:
        if refusal.status != 404:
            raise
        raise _nobody(text) from refusal
    return found


def _fits(token: Record, text: str) -> bool:
    if text == token["id"] or text.startswith(token["hint"]):
        return True
    return len(text) >= SHORTEST_PART and token["id"].startswith(text.lower())


def _nobody(text: str) -> NotFound:
    return NotFound(
        f"No reader is called {one_line(text)!r}. `headwater readers list` shows them all.",
        given=text,
    )


def _is_uuid(text: str) -> bool:
    try:
        return str(UUID(text)) == text.lower()
    except ValueError:
        return False


def categories_after(
    before: list[str], exactly: list[str] | None, add: list[str] | None, drop: list[str] | None
) -> list[str]:
    """What a reader follows once these are said; each once, new ones last."""
    if exactly and (add or drop):
        raise BadInput("--category says all of them: it goes with neither --add nor --drop.")
    if exactly:
        return list(dict.fromkeys(exactly))
    missing = [name for name in drop or [] if name not in before]
    if missing:
        raise NotFound(f"{one_line(missing[0])!r} is not followed.", given=missing[0])
    return [n for n in dict.fromkeys([*before, *(add or [])]) if n not in (drop or [])]
