"""What the brokers have in common: how their addresses are read, how batches are cut.

Where a broker is, the operator says, as with the database: no address is refused.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

from headwater.events.event_json import WireEvent
from headwater.sinks.kinds.options import SinkOptions

LONGEST_DETAIL = 300


@dataclass(frozen=True, slots=True)
class BrokerUrl:
    """Where a broker is. Names and passwords are plain text here, not as a URL spells them."""

    scheme: str
    host: str
    port: int
    path: str
    user: str | None
    password: str | None

    @property
    def place(self) -> str:
        """Without anybody's name or password."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}:{self.port}{self.path}"


def broker_url(given: SinkOptions, text: str, schemes: Mapping[str, int]) -> BrokerUrl:
    """`schemes` are the ones that may be used, with the port each has by itself."""
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError as trouble:
        raise given.refusal("url", "has a host or port that is not valid") from trouble
    if parts.scheme not in schemes or not parts.hostname or port == 0 or " " in text:
        likely = " or ".join(f"{scheme}://host" for scheme in schemes)
        raise given.refusal("url", f"must be like {likely}")
    if parts.query or parts.fragment:
        raise given.refusal("url", "may have no ? and no #; there are options for these things")
    return BrokerUrl(
        parts.scheme,
        parts.hostname,
        port or schemes[parts.scheme],
        parts.path if parts.path != "/" else "",
        unquote(parts.username) if parts.username else None,
        unquote(parts.password) if parts.password else None,
    )


def error_text(trouble: BaseException) -> str:
    """An error's own words, in one line of bounded length."""
    return " ".join(str(trouble).split())[:LONGEST_DETAIL] or type(trouble).__name__


def batches(
    parcels: Sequence[WireEvent], *, most_bytes: int, most: int
) -> Iterator[Sequence[WireEvent]]:
    """In order, none above the limits, except that one large parcel travels alone."""
    start = size = 0
    for place, parcel in enumerate(parcels):
        if place > start and (size + len(parcel.body) > most_bytes or place - start == most):
            yield parcels[start:place]
            start, size = place, 0
        size += len(parcel.body)
    if start < len(parcels):
        yield parcels[start:]
