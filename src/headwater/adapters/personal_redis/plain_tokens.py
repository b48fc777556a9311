"""Tokens that another tool left in plain and that nobody used yet: for a copy into another store.

They stay as they are. Finding them is a search of all keys, so it is done once for all readers.
"""

from hashlib import sha256

from headwater.adapters.personal_redis.keys import PLAIN, shown
from headwater.adapters.personal_redis.link import Link, Script
from headwater.adapters.personal_redis.readers import hint_of, token_id_of
from headwater.ports import Clock
from headwater.values.instant import to_micros
from headwater.values.personal import ReaderToken

REMEMBERED_SECONDS = 60.0
KEYS = 500

_PAGE = Script("""
local page = redis.call('SCAN', ARGV[1], 'MATCH', 'rss:token:*', 'COUNT', ARGV[2])
local rows = {}
for _, key in ipairs(page[2]) do
  local id = string.sub(key, 11, 17) ~= 'sha256:' and redis.pcall('GET', key)
  if type(id) == 'string' then rows[#rows + 1] = {key, id, redis.call('PTTL', key)} end
end
return {page[1], rows}
""")

Found = dict[str, list[tuple[ReaderToken, bytes]]]


class PlainTokens:
    def __init__(self, link: Link, clock: Clock) -> None:
        self._link, self._clock = link, clock
        self._found: Found = {}
        self._looked_at: float | None = None

    async def of(self, reader_id: str) -> list[tuple[ReaderToken, bytes]]:
        """With the ids they would have if they were used."""
        passed = self._clock.monotonic()
        if self._looked_at is None or passed - self._looked_at > REMEMBERED_SECONDS:
            self._found = await self._all()
            self._looked_at = passed
        return self._found.get(reader_id, [])

    async def _all(self) -> Found:
        now = to_micros(self._clock.now())
        found: Found = {}
        cursor = b""
        while cursor != b"0":
            cursor, rows = await self._link.run(_PAGE, cursor or b"0", KEYS)
            for key, reader_id, left in rows:
                plain = key[len(PLAIN) :]
                token_hash = sha256(plain).digest()
                until = now + left * 1000 if left > 0 else None
                hint = hint_of(shown(plain))
                token = ReaderToken(token_id_of(token_hash), shown(reader_id), hint, now, until)
                found.setdefault(token.reader_id, []).append((token, token_hash))
        return found
