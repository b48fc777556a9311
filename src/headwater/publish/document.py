"""A published feed: what it is called, where it is, and its items, newest first."""

from dataclasses import dataclass
from datetime import datetime

from headwater.publish.item import Item

GENERATOR = "Headwater"


@dataclass(frozen=True, slots=True)
class Places:
    """Where a document and its neighbours are. `first` to `next` are pages of one feed; `home` is a
    page for people, `hub` tells subscribers of news."""

    self_url: str
    first: str | None = None
    previous: str | None = None
    next: str | None = None
    hub: str | None = None
    home: str | None = None


@dataclass(frozen=True, slots=True)
class Document:
    """`id` is the same for all pages, and in every format. `updated` is the newest change of what
    is shown, so that the same items always make the same bytes."""

    id: str
    title: str
    updated: datetime
    places: Places
    items: tuple[Item, ...] = ()
    description: str = ""
    author: str = GENERATOR
