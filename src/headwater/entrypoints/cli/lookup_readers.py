"""Look up readers and their tokens by a name, an id, or the beginning of a token."""

from headwater.core.errors import NotFound
from headwater.entrypoints.cli.errors import ApiError
from headwater.entrypoints.cli.lookup import SHORTEST_PART, SeveralMatch, api_path, is_uuid
from headwater.entrypoints.cli.render import Record
from headwater.entrypoints.cli.session import Api
from headwater.entrypoints.cli.terminal import one_line


def lookup_reader(api: Api, text: str) -> Record:
    """Look up by id when it is a UUID, else by exact name, else by an id of another tool."""
    if is_uuid(text):
        return _get_reader(api, text)
    readers = api.get("/readers", name=text)["readers"]
    return dict(readers[0]) if readers else _get_reader(api, text)


def lookup_token(reader: Record, tokens: list[Record], text: str | None) -> Record:
    """Look up a token; without a text the only one that is open. Messages do not repeat the text:
    it may be the token itself."""
    if text is None:
        matching = [token for token in tokens if token["state"] == "open"]
        hint = "Name it: `headwater readers tokens` shows them."
    else:
        matching = [token for token in tokens if _matches(token, text)]
        hint = "`headwater readers tokens` shows them all."
    if len(matching) == 1:
        return matching[0]
    name = one_line(reader["name"])
    if not matching:
        raise NotFound(f"{name} has no such token. {hint}", reader_id=reader["id"])
    lines = [f"  {token['id']}  {token['hint']}…  {token['state']}" for token in matching]
    raise SeveralMatch(
        "\n".join([f"{name} has {len(matching)} tokens that fit; say which:", *lines]),
        candidates=[token["id"] for token in matching],
    )


def _get_reader(api: Api, text: str) -> Record:
    # These would make a path of no route, or of another one.
    if text in {"", ".", ".."} or "/" in text:
        raise _no_reader(text)
    try:
        reader: Record = api.get(api_path("readers", text))
    except ApiError as refusal:
        if refusal.status != 404:
            raise
        raise _no_reader(text) from refusal
    return reader


def _matches(token: Record, text: str) -> bool:
    if text == token["id"] or text.startswith(token["hint"]):
        return True
    return len(text) >= SHORTEST_PART and token["id"].startswith(text.lower())


def _no_reader(text: str) -> NotFound:
    return NotFound(
        f"No reader is called {one_line(text)!r}. `headwater readers list` shows them all.",
        given=text,
    )
