"""A client of Headwater for other programs: the event stream, feeds, entries and raw bytes.

from headwater.client import Client

for event in Client("http://127.0.0.1:8470").events("beginning", types=["new_entry"]):
    print(event.seq, event.payload["entry_uid"])

`AsyncClient` does the same on asyncio. docs/client.md has the rest.
"""

from headwater.client.async_client import AsyncClient as AsyncClient
from headwater.client.client import Client as Client
from headwater.client.cursor import Cursor as Cursor
from headwater.client.cursor import FileCursor as FileCursor
from headwater.client.errors import Garbled as Garbled
from headwater.client.errors import LogReset as LogReset
from headwater.client.errors import Refusal as Refusal
from headwater.client.errors import Unexpected as Unexpected
from headwater.client.errors import Unreachable as Unreachable
from headwater.client.events import Event as Event
from headwater.client.records import Enclosure as Enclosure
from headwater.client.records import Entry as Entry
from headwater.client.records import Feed as Feed
from headwater.client.records import Person as Person
from headwater.client.records import RawRef as RawRef
from headwater.client.service_address import Patience as Patience
