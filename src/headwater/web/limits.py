"""The limits of one HTTP exchange, and where trusted certificates are found."""

import ssl
from dataclasses import dataclass
from pathlib import Path

from headwater.core.errors import BadSettings

_KNOWN_STORES = (
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
    "/usr/local/share/certs/ca-root-nss.crt",
    "/opt/homebrew/etc/ca-certificates/cert.pem",
)


@dataclass(frozen=True, slots=True)
class WebLimits:
    """Limits in seconds and bytes. `connect` includes the lookup. Without `ca_file` the system's
    store of certificates is used."""

    connect: float = 5.0
    tls: float = 10.0
    first_byte: float = 15.0
    idle: float = 10.0
    closing: float = 2.0
    header_bytes: int = 64 * 1024
    header_line: int = 8 * 1024
    header_fields: int = 128
    interim_answers: int = 8
    body_bytes: int = 10 * 1024 * 1024
    kept_connections: int = 128
    host_connections: int = 0  # 0: any number
    kept_handles: int = 256
    ca_file: str | None = None


def trusted_store(ca_file: str | None) -> str:
    """The file of trusted certificates: the operator's, or else the system's."""
    if ca_file is not None:
        if not Path(ca_file).is_file():
            raise BadSettings(f"There is no file of trusted certificates at {ca_file}.")
        return ca_file
    default = ssl.get_default_verify_paths().cafile
    for candidate in (default, *_KNOWN_STORES):
        if candidate is not None and Path(candidate).is_file():
            return candidate
    raise BadSettings(
        "No file of trusted certificates was found on this system; name one in the settings."
    )
