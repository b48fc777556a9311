"""Signatures of messages between programs: HMAC-SHA256, as Standard Webhooks describes it."""

import hmac
from base64 import b64decode, b64encode
from binascii import Error as BadBase64
from collections.abc import Mapping
from datetime import datetime, timedelta

from headwater.core.errors import BadInput, BadSignature
from headwater.core.values.response import Headers

WINDOW = timedelta(minutes=5)
"""How far the sender's clock may be from ours. An older message may be a recording."""

ID, TIMESTAMP, SIGNATURE = "webhook-id", "webhook-timestamp", "webhook-signature"

PREFIX = "whsec_"
SHORTEST_KEY, LONGEST_KEY = 24, 64
_VERSION = "v1"
_LONGEST_ID = 256
_MOST_SIGNATURES = 8
_LONGEST_TIMESTAMP = 12


def sign(key: bytes, message_id: str, at: datetime, body: bytes) -> Headers:
    """Make the three header fields that sign a message. The id is new for every message."""
    if not _is_id(message_id):
        raise BadInput("A message id is plain ASCII without dots.", message_id=message_id)
    seconds = str(int(at.timestamp()))
    return (
        (ID, message_id),
        (TIMESTAMP, seconds),
        (SIGNATURE, f"{_VERSION},{_digest(key, message_id, seconds, body)}"),
    )


def verify(
    key: bytes,
    headers: Mapping[str, str] | Headers,
    body: bytes,
    now: datetime,
    *,
    window: timedelta = WINDOW,
) -> str:
    """Return the message's id, when the holder of the key signed exactly this body a moment ago.

    A receiver that must not act twice on one message remembers the ids of the last `window`.
    """
    pairs = headers.items() if isinstance(headers, Mapping) else headers
    fields = {name.lower(): value.strip() for name, value in pairs}
    message_id, seconds = fields.get(ID, ""), fields.get(TIMESTAMP, "")
    signatures = fields.get(SIGNATURE, "")
    if not (message_id and seconds and signatures):
        raise BadSignature("The message is not signed.")
    if not _is_id(message_id):
        raise BadSignature("The message's id is not plain ASCII without dots.")
    _check_time(seconds, now, window)
    expected = f"{_VERSION},{_digest(key, message_id, seconds, body)}".encode()
    # Several signatures, with a space between them, while a key is being changed for another.
    for signature in signatures.split(" ")[:_MOST_SIGNATURES]:
        if hmac.compare_digest(signature.encode("utf-8", "surrogatepass"), expected):
            return message_id
    raise BadSignature("The signature does not belong to this message.")


def secret_of(key: bytes) -> str:
    """Format a key as people and settings carry it: `whsec_…`."""
    return PREFIX + b64encode(key).decode()


def key_of_secret(secret: str) -> bytes:
    """Parse the key in `whsec_…`. Raise BadInput when there is none."""
    try:
        key = b64decode(secret.strip().removeprefix(PREFIX), validate=True)
    except (BadBase64, ValueError) as trouble:
        raise BadInput("This is not a signing secret: whsec_ and base64.") from trouble
    if not SHORTEST_KEY <= len(key) <= LONGEST_KEY:
        raise BadInput(f"A signing secret has {SHORTEST_KEY} to {LONGEST_KEY} bytes.")
    return key


def _digest(key: bytes, message_id: str, seconds: str, body: bytes) -> str:
    signed = f"{message_id}.{seconds}.".encode() + body
    return b64encode(hmac.digest(key, signed, "sha256")).decode()


def _is_id(message_id: str) -> bool:
    """With a dot in it, one signature would stand for two splits into id and time."""
    plain = all("!" <= letter <= "~" and letter != "." for letter in message_id)
    return plain and 1 <= len(message_id) <= _LONGEST_ID


def _check_time(seconds: str, now: datetime, window: timedelta) -> None:
    plain = seconds.isascii() and seconds.isdigit() and len(seconds) <= _LONGEST_TIMESTAMP
    if not plain:
        raise BadSignature("The message's time is not a number of seconds.")
    if abs(int(seconds) - now.timestamp()) > window.total_seconds():
        raise BadSignature("The message was signed too long ago, or by a clock that is wrong.")
