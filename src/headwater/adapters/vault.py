"""The vault: seals secrets with AES-256-GCM, bound to their row, under keys that can change."""

import binascii
import os
import re
import secrets
from base64 import b64decode, b64encode
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from headwater.core.errors import BadSettings, SecretUnreadable

KEY_BYTES = 32
_VERSION = b"\x01"
_ID_BYTES = 8
_NONCE_BYTES = 12
_HEAD_BYTES = len(_VERSION) + _ID_BYTES

_ADVICE = (
    "Put the key back that sealed it (HEADWATER_SECRET_KEY, HEADWATER_SECRET_KEY_FILE or secret.key"
    " in the data folder), or set the secret again."
)


@dataclass(frozen=True, slots=True)
class VaultKey:
    """One key. Its id tells nothing about the key, and stands in front of all that it sealed."""

    id: bytes
    cipher: AESGCM


class SealedVault:
    """The `Vault` port. The first key seals; all of them open."""

    def __init__(self, keys: Sequence[VaultKey] = (), *, file: Path | None = None) -> None:
        """Without `keys` the key in `file` is used. It is made with the first secret, never before.

        A process that has nothing to seal leaves no key behind.
        """
        self._keys = {key.id: key for key in keys}
        self._first = keys[0] if keys else None
        self._file = file

    def seal(self, plain: bytes, *, about: str) -> bytes:
        key = self._first or self._make_key()
        head, nonce = _VERSION + key.id, secrets.token_bytes(_NONCE_BYTES)
        return head + nonce + key.cipher.encrypt(nonce, plain, head + about.encode())

    def open(self, sealed: bytes, *, about: str) -> bytes:
        head, rest = sealed[:_HEAD_BYTES], sealed[_HEAD_BYTES:]
        if head[:1] != _VERSION or len(rest) <= _NONCE_BYTES:
            raise _unreadable("is damaged, or was sealed by a newer version", about)
        key = self._keys.get(head[1:]) or self._look_up(head[1:], about)
        try:
            return key.cipher.decrypt(
                rest[:_NONCE_BYTES], rest[_NONCE_BYTES:], head + about.encode()
            )
        except InvalidTag as trouble:
            raise _unreadable("is damaged, or belongs to another row", about) from trouble

    def mark(self) -> bytes:
        if self._first is None and self._file is not None and self._file.exists():
            self._read()
        return b"" if self._first is None else _VERSION + self._first.id

    def opens(self, sealed: bytes) -> bool:
        """Say whether we have the key of this secret; the doctor asks."""
        try:
            self._look_up(sealed[len(_VERSION) : _HEAD_BYTES], "")
        except SecretUnreadable:
            return False
        return True

    def _make_key(self) -> VaultKey:
        if self._file is None:
            raise BadSettings("There is no key to seal secrets with.")
        if not self._file.exists():
            _make_key_file(self._file)
        self._read()
        assert self._first is not None, "a key file holds a key"
        return self._first

    def _look_up(self, key_id: bytes, about: str) -> VaultKey:
        """Read the file again: another process may have made it, or an operator put a key back."""
        if key_id not in self._keys and self._file is not None and self._file.exists():
            try:
                self._read()
            except BadSettings as trouble:
                raise _unreadable(f"does not open ({trouble.message})", about) from trouble
        if key_id not in self._keys:
            raise _unreadable(f"was sealed with a key that is not here ({key_id.hex()})", about)
        return self._keys[key_id]

    def _read(self) -> None:
        assert self._file is not None
        keys = parse_keys(_read_key_file(self._file), str(self._file))
        self._keys, self._first = {key.id: key for key in keys}, keys[0]


def open_vault(text: str | None, file: Path) -> SealedVault:
    """Open a vault with the keys that an operator set, or with the key file that we make."""
    if text is None:
        return SealedVault(file=file)
    return SealedVault(parse_keys(text, "The secret key"))


def parse_keys(text: str, what: str) -> list[VaultKey]:
    """Parse keys in base64, with commas or white space between them; the first one seals."""
    parts = re.split(r"[,\s]+", text.strip(", \t\r\n"))
    return [_key(part, what) for part in parts]


def _key(text: str, what: str) -> VaultKey:
    try:
        raw = b64decode(text.replace("-", "+").replace("_", "/"), validate=True)
    except (binascii.Error, ValueError):
        raw = b""
    if len(raw) != KEY_BYTES:
        raise BadSettings(
            f"{what} must be {KEY_BYTES} random bytes in base64, such as `openssl rand -base64"
            f" {KEY_BYTES}` prints. Several may stand there, with commas between them."
        )
    return VaultKey(sha256(b"headwater key id\x00" + raw).digest()[:_ID_BYTES], AESGCM(raw))


def _read_key_file(file: Path) -> str:
    try:
        if file.stat().st_mode & 0o077:
            raise BadSettings(f"{file} can be read by others; run `chmod 600 {file}`.")
        return file.read_text("ascii")
    except (OSError, UnicodeDecodeError) as trouble:
        raise BadSettings(f"The secret key {file} cannot be read: {trouble}") from trouble


def _make_key_file(file: Path) -> None:
    """Make the file whole or not at all, and by one process alone: the others find it."""
    draft = file.with_name(f".{file.name}.{os.getpid()}.{secrets.token_hex(4)}")
    try:
        _write_durably(draft, b64encode(secrets.token_bytes(KEY_BYTES)) + b"\n")
        try:
            with suppress(FileExistsError):
                os.link(draft, file)
        finally:
            draft.unlink()
        _sync_folder(file.parent)
    except OSError as trouble:
        raise BadSettings(
            f"The secret key {file} cannot be made: {trouble.strerror}."
            " Correct that, or set HEADWATER_SECRET_KEY."
        ) from trouble


def _write_durably(path: Path, content: bytes) -> None:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with open(descriptor, "wb") as out:
        out.write(content)
        out.flush()
        os.fsync(out.fileno())


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _unreadable(why: str, about: str) -> SecretUnreadable:
    return SecretUnreadable(f"A stored secret {why}. {_ADVICE}", about=about)
