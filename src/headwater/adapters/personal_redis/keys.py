"""The names of keys. The first three are those that other tools know too.

Nothing in a name is a pattern: a category or a reader's id stands at the end of a key, or is what
is left when a known beginning and a known end are taken away.
"""

PLAIN = "rss:token:"
"""+ token → reader id, as another tool wrote it. Upgraded to the next one when it is first used."""

HASHED_KEY = "rss:token:sha256:"
"""+ the hash in hex → reader id. Here while the token is not revoked."""

CATEGORIES = ("rss:user:", ":categories")
"""Around a reader's id → JSON list of the categories they follow."""

ITEM = "rss:category:"
"""+ category + : + guid → JSON of an item. What follows the last colon is the guid."""

HASHED = "sha256:"
"""A token that begins so is never looked for in plain: it would be another token's hash."""


def plain_token(token: str) -> bytes:
    """Where another tool would keep it; empty for one that nobody keeps in plain."""
    return b"" if token.startswith(HASHED) else utf8(PLAIN + token)


def reader_id_in(key: bytes) -> str | None:
    """Whose categories these are; None when it is not text."""
    begin, end = CATEGORIES
    return text_of(key[len(begin) : -len(end)])


def item_at(key: bytes) -> tuple[str, str] | None:
    """(category, guid) of an item's key; None when it is not text, or has no category."""
    category, colon, guid = key[len(ITEM) :].rpartition(b":")
    names = text_of(category), text_of(guid)
    return (names[0], names[1]) if colon and names[0] and names[1] else None


def utf8(text: str) -> bytes:
    """Half a character is kept as it came."""
    return text.encode("utf-8", "surrogatepass")


def text_of(name: bytes) -> str | None:
    try:
        return name.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return None


def shown(name: bytes) -> str:
    """A name for people, even where another tool wrote what is no text."""
    text = text_of(name)
    return name.decode("utf-8", "replace") if text is None else text
