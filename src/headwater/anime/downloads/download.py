"""A download and its states, from the intent to the library and out of it again."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal, get_args

from headwater.anime.shows.slot import Slot

DownloadState = Literal[
    "intended",  # decided and written down; nothing was asked of anybody
    "ready",  # its torrent is here and looked through, or a magnet link is enough
    "added",  # the client has it, or was asked to take it
    "complete",  # the client says that it has all of it
    "verified",  # we have looked: every byte is there
    "linked",  # the library shows it; what it replaced may go
    "done",  # what it replaced is gone
    "retiring",  # something better has its place in the library; it is on its way out
    "retired",  # gone from the library and from the client
    "failed",  # given up, visibly; a person may try again
    "dropped",  # a person does not want it, or something better came before it was complete
]

STATES_WITH_SLOTS: frozenset[DownloadState] = frozenset(
    {"intended", "ready", "added", "complete", "verified", "linked", "done"}
)
"""States of downloads that have their slots, or are on their way to them."""

STATES_IN_LIBRARY: frozenset[DownloadState] = frozenset({"linked", "done"})
DOWNLOAD_STATES: tuple[DownloadState, ...] = get_args(DownloadState)


@dataclass(frozen=True, slots=True)
class LostSlots:
    """Slots that another download loses once this one is in the library."""

    download_id: int
    slots: tuple[Slot, ...]
    is_whole: bool


@dataclass(frozen=True, slots=True)
class Download:
    """`fence` is the number of the claim: a worker that lost its lease commits nothing. `progress`
    is in thousandths; `progressed_at` is when it was last seen to grow, or later where nobody could
    look for long. `size` is in bytes, once the torrent is known. `ends_as` is the state after
    `retiring`. `updated_at` is when its last step was written."""

    id: int
    show_id: int
    release_id: int
    state: DownloadState
    infohash: str | None
    magnet: str | None
    save_path: str
    slots: tuple[Slot, ...]
    replaces: tuple[LostSlots, ...]
    attempts: int
    error: str | None
    detail: str | None
    progress: int
    fence: int
    next_step_at: datetime | None
    intended_at: datetime
    added_at: datetime | None = None
    completed_at: datetime | None = None
    linked_at: datetime | None = None
    ended_at: datetime | None = None
    size: int | None = None
    progressed_at: datetime | None = None
    ends_as: DownloadState | None = None
    updated_at: datetime | None = None

    @property
    def fraction(self) -> float:
        """How much of it the client has, from 0 to 1."""
        return self.progress / 1_000

    @property
    def is_standing(self) -> bool:
        return self.state in STATES_WITH_SLOTS
