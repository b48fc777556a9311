"""Secrets never reach the record."""

import pytest

from headwater.feeds.fetch.redact_headers import hide_credential_headers, redacted_headers


@pytest.mark.parametrize(
    "name",
    [
        "Authorization",
        "proxy-authorization",
        "Cookie",
        "Set-Cookie",
        "X-Api-Key",
        "X-ApiKey",
        "X-Auth-Token",
        "X-CSRF-Token",
        "Private-Token",
        "X-Amz-Security-Token",
        "X-Hub-Signature-256",
        "X-Session-Id",
    ],
)
def test_secret_values_are_replaced(name: str) -> None:
    assert redacted_headers(((name, "hunter2"),)) == ((name, "REDACTED"),)


def test_everything_else_is_kept_in_order() -> None:
    headers = (
        ("Host", "e.org"),
        ("ETag", '"token"'),
        ("Content-Type", "text/xml"),
        ("content-type", "text/html"),
        ("X-Powered-By", "{{7*7}} ${jndi:x}"),
    )
    assert redacted_headers(headers) == headers


def test_secrets_in_urls_are_replaced_too() -> None:
    assert redacted_headers((("Location", "https://u:p@e.org/?a=1&token=x"),)) == (
        ("Location", "https://e.org/?a=1&token=REDACTED"),
    )


def test_a_field_that_came_from_credentials_is_hidden_however_it_is_spelt() -> None:
    sent = (("Accept", "*/*"), ("X-Door", "sesame"))
    assert hide_credential_headers(sent, (("x-DOOR", "sesame"),)) == (
        ("Accept", "*/*"),
        ("X-Door", "REDACTED"),
    )
