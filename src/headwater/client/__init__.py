"""Headwater for other programs: the event stream as an iterator, feeds, entries and raw bytes.

from headwater.client import Client

for event in Client("http://127.0.0.1:8470").events("beginning", types=["new_entry"]):
    print(event.seq, event.payload["entry_uid"])

`AsyncClient` does the same on asyncio. docs/client.md has the rest.
"""

from headwater.client.cursor import Cursor as Cursor
from headwater.client.cursor import FileCursor as FileCursor
from headwater.client.event import Event as Event
from headwater.client.loops import AsyncClient as AsyncClient
from headwater.client.place import Patience as Patience
from headwater.client.records import Enclosure as Enclosure
from headwater.client.records import Entry as Entry
from headwater.client.records import Feed as Feed
from headwater.client.records import Person as Person
from headwater.client.records import RawRef as RawRef
from headwater.client.threads import Client as Client
from headwater.client.troubles import Garbled as Garbled
from headwater.client.troubles import LogReset as LogReset
from headwater.client.troubles import Refusal as Refusal
from headwater.client.troubles import Unexpected as Unexpected
from headwater.client.troubles import Unreachable as Unreachable
