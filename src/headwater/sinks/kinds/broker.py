"""The common part of sinks for a broker: its address, and the cutting of batches.

The operator chooses the address of a broker, as that of the database: none is refused.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

from headwater.events.event_json import WireEvent
from headwater.sinks.kinds.options import SinkOptions

LONGEST_DETAIL = 300


@dataclass(frozen=True, slots=True)
class BrokerUrl:
    """The address of a broker. User and password are decoded here, not as a URL spells them."""

    scheme: str
    host: str
    port: int
    path: str
    user: str | None
    password: str | None

    @property
    def place(self) -> str:
        """The address without user and password."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}:{self.port}{self.path}"


def broker_url(options: SinkOptions, text: str, schemes: Mapping[str, int]) -> BrokerUrl:
    """Parse a broker's URL. `schemes` are the allowed ones, each with its usual port."""
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError as trouble:
        raise options.refusal("url", "has a host or port that is not valid") from trouble
    if parts.scheme not in schemes or not parts.hostname or port == 0 or " " in text:
        likely = " or ".join(f"{scheme}://host" for scheme in schemes)
        raise options.refusal("url", f"must be like {likely}")
    if parts.query or parts.fragment:
        raise options.refusal("url", "may have no ? and no #; there are options for these things")
    return BrokerUrl(
        parts.scheme,
        parts.hostname,
        port or schemes[parts.scheme],
        parts.path if parts.path != "/" else "",
        unquote(parts.username) if parts.username else None,
        unquote(parts.password) if parts.password else None,
    )


def error_text(trouble: BaseException) -> str:
    """The message of an error, in one line of bounded length."""
    return " ".join(str(trouble).split())[:LONGEST_DETAIL] or type(trouble).__name__


def batches(
    events: Sequence[WireEvent], *, most_bytes: int, most: int
) -> Iterator[Sequence[WireEvent]]:
    """Batches in order, none above the limits, except that one large event goes alone."""
    start = size = 0
    for place, event in enumerate(events):
        if place > start and (size + len(event.body) > most_bytes or place - start == most):
            yield events[start:place]
            start, size = place, 0
        size += len(event.body)
    if start < len(events):
        yield events[start:]
