"""Parse magnet links by an allow-list: the hash, a name and trackers, and nothing else."""

import re
from base64 import b32decode
from dataclasses import dataclass
from ipaddress import ip_address
from urllib.parse import parse_qsl, quote, urlsplit

LONGEST = 16_384
MOST_TRACKERS = 64
LONGEST_NAME = 255

_HEX = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?", re.IGNORECASE)
_BASE32 = re.compile(r"[a-z2-7]{32}", re.IGNORECASE)
_MULTIHASH = re.compile(r"1220([0-9a-f]{64})", re.IGNORECASE)
_INVISIBLE = re.compile(
    r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]+"
)
_TRACKERS = ("http", "https", "udp")
_LOCAL_HOSTS = ("localhost", ".localhost", ".local", ".internal", ".home.arpa")


@dataclass(frozen=True, slots=True)
class Magnet:
    """A magnet link. `infohash` is its first hash of version 1, or of version 2 if there is no
    other."""

    infohash: str
    name: str | None = None
    trackers: tuple[str, ...] = ()

    @property
    def uri(self) -> str:
        """The link, written anew, so that it holds only what was parsed."""
        kind = "btih:" if len(self.infohash) == 40 else "btmh:1220"
        parts = [f"magnet:?xt=urn:{kind}{self.infohash}"]
        if self.name:
            parts.append(f"dn={quote(self.name, safe='')}")
        parts += [f"tr={quote(tracker, safe='')}" for tracker in self.trackers]
        return "&".join(parts)


def infohash_of(text: str) -> str | None:
    """A hash in hex or base32, of version 1 or 2, as lower-case hex; None when it is no hash."""
    digits = text.strip()
    if _HEX.fullmatch(digits):
        return digits.lower()
    if _BASE32.fullmatch(digits):
        return b32decode(digits.upper()).hex()
    multihash = _MULTIHASH.fullmatch(digits)
    return multihash[1].lower() if multihash else None


def parse_magnet(text: str) -> Magnet | None:
    """None for a text that is no magnet link, has no hash of a torrent, or is far too long."""
    link = text.strip()
    if len(link) > LONGEST or link[:8].lower() != "magnet:?":
        return None
    # Feeds that escape twice leave "&amp;" between the fields.
    fields = parse_qsl(link[8:].replace("&amp;", "&"), errors="replace")
    hashes = [
        infohash
        for name, value in fields
        if _is_field(name, "xt")
        if (infohash := _hash_of_topic(value)) is not None
    ]
    if not hashes:
        return None
    trackers = dict.fromkeys(
        value for name, value in fields if _is_field(name, "tr") and _is_tracker(value)
    )
    name = next((value for name, value in fields if name == "dn"), "")
    return Magnet(
        min(hashes, key=len),
        " ".join(_INVISIBLE.sub(" ", name).split())[:LONGEST_NAME] or None,
        tuple(trackers)[:MOST_TRACKERS],
    )


def _is_field(name: str, field: str) -> bool:
    """A field is named `xt`, or `xt.1` where there are several."""
    return name.partition(".")[0] == field


def _hash_of_topic(topic: str) -> str | None:
    kind, _, digits = topic.strip().rpartition(":")
    return infohash_of(digits) if kind.lower() in ("urn:btih", "urn:btmh") else None


def _is_tracker(url: str) -> bool:
    """A client asks trackers from inside our network: no tracker that a stranger names may be
    there.

    Names that resolve to private addresses are for the client's own settings to refuse.
    """
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        return False
    if parts.scheme not in _TRACKERS or not host or not url.isascii() or " " in url:
        return False
    if host.endswith(_LOCAL_HOSTS) or "." not in host.strip("."):
        return ":" in host and _is_public(host)
    return _is_public(host)


def _is_public(host: str) -> bool:
    try:
        return ip_address(host).is_global
    except ValueError:
        # A name, then; but 127.1 and 0x7f.1 are addresses to some resolvers.
        return not host.rstrip(".").rpartition(".")[2][:1].isdigit()
