"""Which reader and which token a person means: a name, an id, or how the token begins."""

from uuid import UUID

from headwater.core.errors import NotFound
from headwater.entrypoints.cli.errors import ApiError
from headwater.entrypoints.cli.lookup import SeveralMatch, api_path
from headwater.entrypoints.cli.render import Record
from headwater.entrypoints.cli.session import Api
from headwater.entrypoints.cli.terminal import one_line

SHORTEST_PART = 4


def lookup_reader(api: Api, text: str) -> Record:
    """By id when it is a UUID, else by exact name, else by the id that another tool gave."""
    if _is_uuid(text):
        return _get_reader(api, text)
    named = api.get("/readers", name=text)["readers"]
    return dict(named[0]) if named else _get_reader(api, text)


def lookup_token(reader: Record, tokens: list[Record], text: str | None) -> Record:
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
    raise SeveralMatch(
        "\n".join([f"{name} has {len(fitting)} tokens that fit; say which:", *lines]),
        candidates=[each["id"] for each in fitting],
    )


def _get_reader(api: Api, text: str) -> Record:
    # A path cannot say these: no route would be meant, or another one.
    if text in {"", ".", ".."} or "/" in text:
        raise _nobody(text)
    try:
        found: Record = api.get(api_path("readers", text))
    except ApiError as refusal:
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
