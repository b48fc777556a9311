"""Readers with tokens, and items for them, put into the store as people and programs would."""

from dataclasses import dataclass, field, replace

from uuid_utils import uuid7

from headwater.auth.tokens import token_hash
from headwater.core.values.instant import to_micros
from headwater.personal_feeds.ports import FeedReader, KeptItem, ReaderToken
from tests.support.engine_parts import EngineParts

DAY = 86_400_000_000


@dataclass(slots=True)
class Readers:
    """`count` gives each item a guid of its own, in order."""

    engine: EngineParts
    count: int = field(default=0)

    @property
    def now(self) -> int:
        return to_micros(self.engine.clock.now())

    async def reader(self, name: str, *categories: str) -> FeedReader:
        made = FeedReader(str(uuid7()), name, categories, self.now, self.now)
        return await self.engine.personal.add_reader(made, most=1_000)

    async def token(self, reader: FeedReader, text: str, *, until: int | None = None) -> str:
        """The id of the token."""
        made = ReaderToken(str(uuid7()), reader.id, text[:8], self.now, until)
        await self.engine.personal.add_token(made, token_hash(text), most=100)
        return made.id

    async def opened(self, name: str, *categories: str, token: str) -> FeedReader:
        """A reader with one token."""
        reader = await self.reader(name, *categories)
        await self.token(reader, token)
        return reader

    async def item(self, category: str, title: str, **words: str) -> KeptItem:
        self.count += 1
        made = KeptItem(
            category=category,
            guid=f"01900000-0000-7000-8000-{self.count:012d}",
            title=title,
            description=f"<p>{title}</p>",
            link=f"https://posts.example/{self.count}",
            pub_date=self.now,
            arrived_at=self.now,
            expires_at=self.now + 14 * DAY,
            changed_at=self.now,
        )
        await self.engine.personal.add([replace(made, **words)])  # type: ignore[arg-type]
        return made
