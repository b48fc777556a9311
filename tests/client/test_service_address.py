"""Requests of the client: nothing that a caller names can begin another request."""

import pytest

from headwater.client.service_address import ServiceAddress
from headwater.core.errors import BadSettings


def test_a_header_field_with_a_line_break_is_refused() -> None:
    address = ServiceAddress.of("http://a.example", None)
    with pytest.raises(BadSettings, match="x-name"):
        address.request("GET", "/feeds", headers={"x-name": "a\r\nhost: b.example"})


def test_a_header_field_may_have_spaces() -> None:
    request = ServiceAddress.of("http://a.example", None).request(
        "GET", "/feeds", headers={"accept-language": "en, de"}
    )
    assert b"accept-language: en, de\r\n" in request
