"""Versions: every script that changes something raises the version, and notes the change.

Scripts reach keys by names they make themselves, so this is for one server and its replicas, not
for Redis Cluster. `ARGV[1]` of such a script is the present moment in microseconds.
"""

from headwater.personal_feeds.ports import PersonalChanges
from headwater.personal_feeds.redis.connection import RedisConnection, Script
from headwater.personal_feeds.redis.keys import printable_name

MOST_CHANGES_LISTED = 10_000
"""Changes in one answer; with more, the answer is that everything has changed."""

MOST_KEPT = 100_000

# The first version is the moment when it is made: so a new one, after everything was lost, is later
# than all versions before.
BEGIN = """
local function begin()
  if redis.call('EXISTS', 'rss:version') == 0 then
    redis.call('SET', 'rss:version', ARGV[1])
    redis.call('SET', 'rss:version-floor', ARGV[1])
    redis.call('DEL', 'rss:changes')
  end
end
"""

VERSION_FUNCTIONS = (
    BEGIN
    + """
local function told(kind, name)
  begin()
  local version = string.format('%.0f', redis.call('INCR', 'rss:version'))
  redis.call('ZADD', 'rss:changes', version, kind .. name)
end
local function category_changed(category, at)
  local before = redis.call('HGET', 'rss:changed', category)
  if not before or tonumber(before) < tonumber(at) then
    redis.call('HSET', 'rss:changed', category, at)
  end
  told('c', category)
end
local function reader_changed(id)
  told('r', id)
end
"""
)

_CHANGES = Script(
    BEGIN
    + """
begin()
local version, floor = redis.call('GET', 'rss:version'), redis.call('GET', 'rss:version-floor')
local after = tonumber(ARGV[2])
if after == tonumber(version) then return {version, {}} end
if after < tonumber(floor or '0') or after > tonumber(version) then return {version, false} end
local seen = redis.call('ZRANGEBYSCORE', 'rss:changes', '(' .. ARGV[2], '+inf', 'LIMIT', 0, ARGV[3])
if #seen == tonumber(ARGV[3]) then return {version, false} end
return {version, seen}
"""
)

_FORGET = Script("""
local oldest = redis.call('ZRANGE', 'rss:changes', 0, -1 - tonumber(ARGV[1]), 'WITHSCORES')
if #oldest == 0 then return 0 end
redis.call('ZREMRANGEBYRANK', 'rss:changes', 0, -1 - tonumber(ARGV[1]))
redis.call('SET', 'rss:version-floor', string.format('%.0f', tonumber(oldest[#oldest])))
return #oldest / 2
""")


async def changes_since(connection: RedisConnection, after: int, now: int) -> PersonalChanges:
    version, seen = await connection.run(_CHANGES, now, after, MOST_CHANGES_LISTED + 1)
    if seen is None:
        return PersonalChanges(int(version), everything=True)
    names = [printable_name(name) for name in seen]
    return PersonalChanges(
        int(version),
        categories=frozenset(name[1:] for name in names if name[0] == "c"),
        readers=frozenset(name[1:] for name in names if name[0] == "r"),
    )


async def forget_old_changes(connection: RedisConnection, keep: int = MOST_KEPT) -> int:
    """Forget old changes. A process that asks for them gets the answer that everything changed."""
    forgotten: int = await connection.run(_FORGET, keep)
    return forgotten
