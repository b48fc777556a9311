"""The vault: what it seals opens for its own row, with its own key, and for nobody else."""

import os
import subprocess
import sys
from base64 import b64encode, urlsafe_b64encode
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.adapters.vault import SealedVault, open_vault, parse_keys
from headwater.core.errors import BadSettings, SecretUnreadable

KEY_A = b64encode(b"a" * 32).decode()
KEY_B = b64encode(b"b" * 32).decode()
NOWHERE = Path("/nowhere/secret.key")


def vault_with(*keys: str) -> SealedVault:
    return open_vault(",".join(keys), NOWHERE)


@given(plain=st.binary(max_size=200), about=st.text(max_size=50))
def test_what_was_sealed_opens_again(plain: bytes, about: str) -> None:
    vault = vault_with(KEY_A)
    assert vault.open(vault.seal(plain, about=about), about=about) == plain


def test_sealing_twice_looks_different_and_never_shows_the_secret() -> None:
    vault = vault_with(KEY_A)
    one = vault.seal(b"a very secret word", about="subscription:1")
    two = vault.seal(b"a very secret word", about="subscription:1")
    assert one != two
    assert b"secret" not in one


def test_a_secret_moved_to_another_row_does_not_open() -> None:
    vault = vault_with(KEY_A)
    sealed = vault.seal(b"x", about="subscription:1")
    with pytest.raises(SecretUnreadable, match="belongs to another row") as refusal:
        vault.open(sealed, about="subscription:2")
    assert refusal.value.facts == {"about": "subscription:2"}


@given(place=st.integers(0, 36), flip=st.integers(1, 255))
def test_a_changed_byte_anywhere_is_noticed(place: int, flip: int) -> None:
    vault = vault_with(KEY_A)
    sealed = bytearray(vault.seal(b"", about="a"))  # 1 version, 8 key id, 12 nonce, 16 tag
    sealed[place % len(sealed)] ^= flip
    with pytest.raises(SecretUnreadable):
        vault.open(bytes(sealed), about="a")


@given(junk=st.binary(max_size=60))
def test_junk_does_not_open_and_does_not_crash(junk: bytes) -> None:
    with pytest.raises(SecretUnreadable):
        vault_with(KEY_A).open(junk, about="a")


def test_a_wrong_key_says_what_to_do() -> None:
    sealed = vault_with(KEY_A).seal(b"x", about="group:3")
    with pytest.raises(SecretUnreadable) as refusal:
        vault_with(KEY_B).open(sealed, about="group:3")
    assert "sealed with a key that is not here" in refusal.value.message
    assert "HEADWATER_SECRET_KEY" in refusal.value.message
    assert not vault_with(KEY_B).opens(sealed)


def test_the_first_key_seals_and_the_older_ones_still_open() -> None:
    old = vault_with(KEY_A).seal(b"old", about="a")
    both = vault_with(KEY_B, KEY_A)
    assert both.open(old, about="a") == b"old"
    new = both.seal(b"new", about="a")
    assert vault_with(KEY_B).open(new, about="a") == b"new"
    assert not vault_with(KEY_A).opens(new)


def test_everything_sealed_begins_with_the_mark_of_the_present_key(tmp_path: Path) -> None:
    vault = vault_with(KEY_B, KEY_A)
    assert vault.seal(b"x", about="a").startswith(vault.mark())
    assert vault_with(KEY_A).mark() != vault.mark()
    unused = open_vault(None, tmp_path / "secret.key")
    assert unused.mark() == b""
    assert unused.seal(b"x", about="a").startswith(unused.mark())
    assert open_vault(None, tmp_path / "secret.key").mark() == unused.mark()


@pytest.mark.parametrize("between", [",", " , ", "\n", "\r\n"])
def test_keys_stand_with_commas_or_lines_between_them(between: str) -> None:
    assert len(parse_keys(f"{KEY_A}{between}{KEY_B}\n", "x")) == 2


def test_a_key_in_url_safe_letters_is_the_same_key() -> None:
    raw = b"\xfb\xff" * 16
    plain, safe = (
        parse_keys(b64encode(raw).decode(), ""),
        parse_keys(urlsafe_b64encode(raw).decode(), ""),
    )
    assert plain[0].id == safe[0].id


@pytest.mark.parametrize(
    "text", ["", "short", b64encode(b"a" * 31).decode(), b64encode(b"a" * 33).decode(), "ä" * 44]
)
def test_a_key_of_another_size_is_refused_without_showing_it(text: str) -> None:
    with pytest.raises(BadSettings, match="openssl rand -base64 32") as refusal:
        parse_keys(text, "The secret key")
    assert not text or text not in refusal.value.message


def test_the_key_file_is_made_with_the_first_secret_for_its_owner_alone(tmp_path: Path) -> None:
    file = tmp_path / "data" / "secret.key"
    vault = open_vault(None, file)
    assert not file.exists()
    sealed = vault.seal(b"x", about="a")
    assert file.stat().st_mode & 0o777 == 0o600
    assert [path.name for path in file.parent.iterdir()] == ["secret.key"]
    assert open_vault(None, file).open(sealed, about="a") == b"x"


def test_opening_never_makes_a_key(tmp_path: Path) -> None:
    file = tmp_path / "secret.key"
    with pytest.raises(SecretUnreadable):
        open_vault(None, file).open(vault_with(KEY_A).seal(b"x", about="a"), about="a")
    assert not file.exists()


def test_a_key_that_is_put_back_is_found_without_a_restart(tmp_path: Path) -> None:
    file = tmp_path / "secret.key"
    vault = open_vault(None, file)
    sealed = vault_with(KEY_A).seal(b"x", about="a")
    assert not vault.opens(sealed)
    file.write_text(KEY_A)
    file.chmod(0o600)
    assert vault.open(sealed, about="a") == b"x"


def test_a_key_file_that_others_can_read_is_not_used(tmp_path: Path) -> None:
    file = tmp_path / "secret.key"
    file.write_text(KEY_A)
    file.chmod(0o640)
    with pytest.raises(BadSettings, match="chmod 600"):
        open_vault(None, file).seal(b"x", about="a")
    with pytest.raises(SecretUnreadable, match="chmod 600"):
        open_vault(None, file).open(vault_with(KEY_A).seal(b"x", about="a"), about="a")


def test_a_folder_that_cannot_be_written_to_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(BadSettings, match="HEADWATER_SECRET_KEY"):
        open_vault(None, tmp_path / "file" / "secret.key").seal(b"x", about="a")


SEAL_ONE = """
import sys
from pathlib import Path
from headwater.adapters.vault import open_vault
vault = open_vault(None, Path(sys.argv[1]))
sys.stdin.readline()
sys.stdout.write(vault.seal(b"x", about="a").hex())
"""


def test_processes_that_start_at_once_agree_on_one_key(tmp_path: Path) -> None:
    file = tmp_path / "secret.key"
    crowd = [
        subprocess.Popen(
            [sys.executable, "-c", SEAL_ONE, str(file)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=dict(os.environ),
        )
        for _ in range(4)
    ]
    for process in crowd:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    sealed = [bytes.fromhex(process.communicate(timeout=60)[0]) for process in crowd]
    vault = open_vault(None, file)
    assert [vault.open(each, about="a") for each in sealed] == [b"x"] * 4
    assert [path.name for path in tmp_path.iterdir()] == ["secret.key"]
