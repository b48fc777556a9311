"""Render raw fetches as WARC 1.1 records (ISO 28500) of a web archive, byte for byte as served."""

import re
import zlib
from base64 import b32encode
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from http import HTTPStatus
from urllib.parse import urlsplit

from headwater.core.values.instant import rfc3339
from headwater.core.values.response import Headers, header
from headwater.publish.document import urn

CONFORMS_TO = "http://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/"

_BREAKS = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]+")
_NO_TOKEN = re.compile(r"[^!#$%&'*+.^_`|~0-9A-Za-z-]+")
_NOT_IN_URL = re.compile(r"[\x00-\x20<>\"]")

# Our payloads have no transfer coding any more, and readers would try to undo it.
_UNDONE = {"transfer-encoding": "X-Archive-Orig-Transfer-Encoding"}


@dataclass(frozen=True, slots=True)
class Capture:
    """One raw fetch. `payload` is in its content coding, without its transfer coding."""

    fetch_id: str
    feed_id: str
    fetched_at: datetime
    url: str
    status: int
    request_headers: Headers
    response_headers: Headers
    payload: bytes
    truncated: bool = False
    error: str | None = None


def warcinfo(software: str, made_at: datetime, about: str) -> bytes:
    """The first record of a file: it names the software that wrote it, and its contents."""
    info = {
        "software": software,
        "format": "WARC File Format 1.1",
        "conformsTo": CONFORMS_TO,
        "description": about,
    }
    block = _lines(tuple(info.items()))
    fields = (
        ("WARC-Type", "warcinfo"),
        ("WARC-Record-ID", f"<{urn('warcinfo', rfc3339(made_at), about)}>"),
        ("WARC-Date", rfc3339(made_at)),
        ("WARC-Block-Digest", _digest(block)),
        ("Content-Type", "application/warc-fields"),
    )
    return _record(fields, block)


def render_response(capture: Capture) -> bytes:
    """The status line and headers, then the payload exactly as it was served."""
    head = _lines(
        tuple((_UNDONE.get(name.lower(), name), value) for name, value in capture.response_headers)
    )
    block = f"HTTP/1.1 {_status(capture.status)}\r\n".encode() + head + b"\r\n" + capture.payload
    cut = (("WARC-Truncated", _why_cut(capture.error)),) if capture.truncated else ()
    fields = (
        ("WARC-Type", "response"),
        ("WARC-Record-ID", _id_of(capture)),
        ("WARC-Target-URI", _uri(capture.url)),
        ("WARC-Date", rfc3339(capture.fetched_at)),
        ("WARC-Payload-Digest", _digest(capture.payload)),
        ("WARC-Block-Digest", _digest(block)),
        *cut,
        ("Headwater-Feed-ID", capture.feed_id),
        ("Content-Type", "application/http; msgtype=response"),
    )
    return _record(fields, block)


def render_request(capture: Capture) -> bytes:
    """The request with its headers; secrets in them are hidden."""
    parts = urlsplit(_uri(capture.url))
    target = f"{parts.path or '/'}{f'?{parts.query}' if parts.query else ''}"
    host = () if header(capture.request_headers, "host") else (("Host", parts.netloc),)
    block = f"GET {target} HTTP/1.1\r\n".encode() + _lines((*host, *capture.request_headers))
    block += b"\r\n"
    fields = (
        ("WARC-Type", "request"),
        ("WARC-Record-ID", f"<{urn('request', capture.fetch_id)}>"),
        ("WARC-Concurrent-To", _id_of(capture)),
        ("WARC-Target-URI", _uri(capture.url)),
        ("WARC-Date", rfc3339(capture.fetched_at)),
        ("WARC-Block-Digest", _digest(block)),
        ("Content-Type", "application/http; msgtype=request"),
    )
    return _record(fields, block)


def gzip_record(record: bytes) -> bytes:
    """One gzip member for one record: a reader can begin at any record."""
    packer = zlib.compressobj(6, zlib.DEFLATED, 31)
    return packer.compress(record) + packer.flush()


def _record(fields: tuple[tuple[str, str], ...], block: bytes) -> bytes:
    head = _lines((*fields, ("Content-Length", str(len(block)))))
    return b"WARC/1.1\r\n" + head + b"\r\n" + block + b"\r\n\r\n"


def _lines(fields: Headers) -> bytes:
    """Header values came as Latin-1 and stay so. No value can end its field or the block."""
    lines = b""
    for name, value in fields:
        line = f"{_NO_TOKEN.sub('_', name) or '_'}: {_BREAKS.sub(' ', value)}\r\n"
        try:
            lines += line.encode("latin-1")
        except UnicodeEncodeError:
            lines += line.encode("utf-8", "replace")
    return lines


def _status(status: int) -> str:
    try:
        return f"{status} {HTTPStatus(status).phrase}"
    except ValueError:
        return f"{status} "


def _why_cut(error: str | None) -> str:
    if error == "body_too_large":
        return "length"
    return "time" if error and "timeout" in error else "unspecified"


def _id_of(capture: Capture) -> str:
    return f"<urn:uuid:{capture.fetch_id}>"


def _uri(url: str) -> str:
    return _NOT_IN_URL.sub("", url)


def _digest(content: bytes) -> str:
    return f"sha256:{b32encode(sha256(content).digest()).decode()}"
