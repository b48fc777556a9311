"""Signed messages: what was signed a moment ago by the holder of the key, and nothing else."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.core.errors import BadInput, BadSignature
from headwater.core.values.signature import key_of_secret, secret_of, sign, verify

# The worked example of the Standard Webhooks specification's own libraries.
SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
MESSAGE_ID = "msg_p5jXN8AQM9LWM0D4loKWxJek"
SIGNED_AT = datetime.fromtimestamp(1614265330, UTC)
BODY = b'{"test": 2432232314}'
SIGNATURE = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="

KEY = bytes(range(32))
NOW = datetime(2026, 1, 5, 12, 0, tzinfo=UTC)


def test_a_message_is_signed_as_the_convention_says() -> None:
    assert sign(key_of_secret(SECRET), MESSAGE_ID, SIGNED_AT, BODY) == (
        ("webhook-id", MESSAGE_ID),
        ("webhook-timestamp", "1614265330"),
        ("webhook-signature", SIGNATURE),
    )


def test_what_we_sign_we_accept_and_the_id_comes_back() -> None:
    assert verify(KEY, sign(KEY, "msg_1", NOW, BODY), BODY, NOW) == "msg_1"


def test_header_names_are_read_in_any_case_and_as_a_mapping() -> None:
    fields = {name.title(): value for name, value in sign(KEY, "msg_1", NOW, BODY)}
    assert verify(KEY, fields, BODY, NOW) == "msg_1"


def test_one_right_signature_among_several_is_enough_while_keys_change() -> None:
    fields = dict(sign(KEY, "msg_1", NOW, BODY))
    fields["webhook-signature"] = f"v1a,abc v1,AAAA {fields['webhook-signature']}"
    assert verify(KEY, fields, BODY, NOW) == "msg_1"


def test_a_ninth_signature_is_not_looked_at() -> None:
    fields = dict(sign(KEY, "msg_1", NOW, BODY))
    right = fields["webhook-signature"]
    assert verify(KEY, fields | {"webhook-signature": "v1,A " * 7 + right}, BODY, NOW) == "msg_1"
    with pytest.raises(BadSignature):
        verify(KEY, fields | {"webhook-signature": "v1,A " * 8 + right}, BODY, NOW)


def test_one_signature_does_not_stand_for_two_ids() -> None:
    """`1.1767614400.` and a body that begins with the time are the same bytes to the key."""
    at = "1767614400"
    fields = dict(sign(KEY, "1", NOW, f"{at}.".encode() + BODY))
    assert fields["webhook-timestamp"] == at
    with pytest.raises(BadSignature):
        verify(KEY, fields | {"webhook-id": f"1.{at}"}, BODY, NOW)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("webhook-id", "msg_2"),
        ("webhook-timestamp", "1767614401"),
        ("webhook-signature", "v1,AAAA"),
        ("webhook-signature", "v2,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="),
        ("webhook-signature", "…"),
        ("webhook-signature", "\ud800"),
    ],
)
def test_another_id_time_or_signature_is_refused(name: str, value: str) -> None:
    fields = dict(sign(KEY, "msg_1", NOW, BODY)) | {name: value}
    with pytest.raises(BadSignature):
        verify(KEY, fields, BODY, NOW)


@pytest.mark.parametrize("kept", [1, 3, 4, -1])
def test_the_beginning_of_a_signature_is_none(kept: int) -> None:
    fields = dict(sign(KEY, "msg_1", NOW, BODY))
    begun = fields["webhook-signature"][:kept]
    with pytest.raises(BadSignature, match="does not belong"):
        verify(KEY, fields | {"webhook-signature": begun}, BODY, NOW)


def test_another_body_or_another_key_is_refused() -> None:
    fields = sign(KEY, "msg_1", NOW, BODY)
    with pytest.raises(BadSignature):
        verify(KEY, fields, BODY + b" ", NOW)
    with pytest.raises(BadSignature):
        verify(bytes(32), fields, BODY, NOW)


@pytest.mark.parametrize("missing", ["webhook-id", "webhook-timestamp", "webhook-signature"])
def test_an_unsigned_message_is_refused(missing: str) -> None:
    fields = dict(sign(KEY, "msg_1", NOW, BODY))
    del fields[missing]
    with pytest.raises(BadSignature, match="not signed"):
        verify(KEY, fields, BODY, NOW)


@pytest.mark.parametrize("late", [-300, 300])
def test_a_message_within_five_minutes_is_accepted(late: int) -> None:
    fields = sign(KEY, "msg_1", NOW, BODY)
    assert verify(KEY, fields, BODY, NOW + timedelta(seconds=late)) == "msg_1"


@pytest.mark.parametrize("late", [-301, 301, 86_400])
def test_a_recording_is_refused_after_five_minutes(late: int) -> None:
    fields = sign(KEY, "msg_1", NOW, BODY)
    with pytest.raises(BadSignature, match="too long ago"):
        verify(KEY, fields, BODY, NOW + timedelta(seconds=late))


@pytest.mark.parametrize(
    "seconds", ["", "-1767614400", "1767614400.5", "1e9", "９", "²", "9" * 5000]
)
def test_a_time_that_is_no_number_of_seconds_is_refused(seconds: str) -> None:
    fields = dict(sign(KEY, "msg_1", NOW, BODY)) | {"webhook-timestamp": seconds}
    with pytest.raises(BadSignature):
        verify(KEY, fields, BODY, NOW)


@pytest.mark.parametrize("message_id", ["", "a.b", "a b", "ä", "a\r\nb", "x" * 257])
def test_an_id_that_could_be_read_in_two_ways_is_never_signed(message_id: str) -> None:
    with pytest.raises(BadInput):
        sign(KEY, message_id, NOW, BODY)


def test_an_id_and_a_time_cannot_be_shifted_into_each_other() -> None:
    """`a` + `1.2` and `a.1` + `2` would be signed with the same text."""
    fields = dict(sign(KEY, "msg", NOW, b"5.rest"))
    shifted = fields | {"webhook-id": f"msg.{fields['webhook-timestamp']}"}
    with pytest.raises(BadSignature):
        verify(KEY, shifted | {"webhook-timestamp": "5"}, b"rest", NOW)


def test_a_key_travels_as_text_and_comes_back() -> None:
    assert secret_of(KEY) == "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
    assert key_of_secret(secret_of(KEY)) == KEY


@pytest.mark.parametrize("secret", ["", "whsec_", "whsec_AAAA", "whsec_!!!", "hello", "whsec_ä"])
def test_what_is_no_secret_is_refused(secret: str) -> None:
    with pytest.raises(BadInput):
        key_of_secret(secret)


def test_a_secret_has_24_to_64_bytes() -> None:
    assert key_of_secret("whsec_" + "AAAA" * 8) == bytes(24)
    assert key_of_secret("whsec_" + "AAAA" * 21 + "AA==") == bytes(64)
    for length in (23, 65):
        with pytest.raises(BadInput, match="24 to 64 bytes"):
            key_of_secret(secret_of(bytes(length)))


@pytest.mark.parametrize("stray", ["!", "-", " ", "\n"])
def test_a_secret_with_a_stray_letter_is_refused_and_not_read_without_it(stray: str) -> None:
    with pytest.raises(BadInput, match="base64"):
        key_of_secret(f"{SECRET[:12]}{stray}{SECRET[12:]}")


@given(st.binary(min_size=24, max_size=64), st.binary(max_size=200), st.binary(max_size=200))
def test_only_the_signed_body_is_accepted(key: bytes, body: bytes, other: bytes) -> None:
    fields = sign(key, "msg_1", NOW, body)
    assert verify(key, fields, body, NOW) == "msg_1"
    if other != body:
        with pytest.raises(BadSignature):
            verify(key, fields, other, NOW)
