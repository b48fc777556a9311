"""How settings are written: lists, contacts, secrets in files."""

import json
from pathlib import Path
from typing import Any

from headwater.errors import BadSettings


def parts(text: str) -> Any:
    """`["a", "b"]` or `a, b` → a list."""
    if text.lstrip().startswith("["):
        try:
            return json.loads(text)
        except ValueError as trouble:
            raise ValueError(f"looks like JSON but is not: {trouble}") from trouble
    return [part.strip() for part in text.split(",") if part.strip()]


def is_contact(text: str) -> bool:
    """Brackets and line breaks would end the comment they stand in."""
    plain = all("!" <= letter <= "~" and letter not in "()" for letter in text)
    return plain and (text.startswith(("http://", "https://", "mailto:")) or "@" in text)


def secret_from(path: Path, what: str) -> str:
    try:
        if path.stat().st_mode & 0o077:
            raise BadSettings(f"{path} can be read by others; run `chmod 600 {path}`.")
        secret = path.read_text("utf-8").strip()
    except OSError as trouble:
        raise BadSettings(f"The {what} cannot be read: {trouble}") from trouble
    if not secret:
        raise BadSettings(f"The {what} {path} is empty.")
    return secret
