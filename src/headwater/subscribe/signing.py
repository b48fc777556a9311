"""The key that signs what we say to a fetcher: whose it is, when it lies sealed in the vault."""


def signing_key_of(name: str) -> str:
    """What the key is sealed about. A fetcher's name is its own for ever, and is known before its
    row is made: so the key is sealed in the same transaction."""
    return f"fetcher:{name}"
