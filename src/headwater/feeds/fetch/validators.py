"""Validators make a request conditional: they are stored and sent back byte for byte, as a pair."""

import re

from headwater.core.values.response import Headers, Validators

LONGEST = 1024

_PRINTABLE = re.compile(r"[ -~]+")


def condition_headers(validators: Validators) -> Headers:
    """The header fields that send the validators of the last answer back."""
    fields: Headers = ()
    if validators.etag is not None:
        fields += (("If-None-Match", validators.etag),)
    if validators.last_modified is not None:
        fields += (("If-Modified-Since", validators.last_modified),)
    return fields


def validators_of(response_headers: Headers) -> Validators:
    """The pair of one response, without a value that could not be sent back safely."""
    etag = last_modified = None
    clashes = set()
    for name, value in response_headers:
        match name.lower():
            case "etag":
                if etag is not None and etag != value:
                    clashes.add("etag")
                etag = value
            case "last-modified":
                if last_modified is not None and last_modified != value:
                    clashes.add("last-modified")
                last_modified = value
    return Validators(
        etag=None if "etag" in clashes else _sendable(etag),
        last_modified=None if "last-modified" in clashes else _sendable(last_modified),
    )


def _sendable(value: str | None) -> str | None:
    """Visible ASCII of a sane length: anything else would break the next request."""
    if value is None or len(value) > LONGEST or not _PRINTABLE.fullmatch(value):
        return None
    return value
