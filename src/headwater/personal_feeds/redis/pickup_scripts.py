"""Lua scripts of the pickup: they find what other tools wrote, and delete what is gone.

They are never used for a request. `rss:foreign:CATEGORY` has a mark (`keys.ForeignItemNote`) of
each item that is not ours.
"""

from headwater.personal_feeds.redis.connection import Script
from headwater.personal_feeds.redis.versions import VERSION_FUNCTIONS

SEARCH_ITEMS = Script("""
local page = redis.call('SCAN', ARGV[1], 'MATCH', 'rss:category:*', 'COUNT', ARGV[2])
local keys, known, marked = {}, {}, {}
for _, key in ipairs(page[2]) do
  local category, guid = string.match(key, '^rss:category:(.*):([^:]*)$')
  if category and category ~= '' and guid ~= '' then
    if known[category] == nil then
      known[category] = redis.call('HEXISTS', 'rss:changed', category) == 1
      marked[category] = redis.call('EXISTS', 'rss:foreign:' .. category) == 1
    end
    local mark = marked[category] and redis.call('HGET', 'rss:foreign:' .. category, guid)
    local stands = known[category] and redis.call('ZSCORE', 'rss:index:' .. category, guid) and
      redis.call('ZSCORE', 'rss:expiry:' .. category, guid)
    local is_new = not stands and not (mark and string.sub(mark, 1, 1) == '!')
    if mark and not is_new and string.byte(guid, -1) % tonumber(ARGV[3]) == tonumber(ARGV[4]) then
      local value = redis.pcall('GET', key)
      is_new = type(value) == 'string' and not string.find(mark, redis.sha1hex(value), 1, true)
    end
    if is_new then keys[#keys + 1] = key end
  end
end
return {page[1], keys}
""")
"""Cursor, how many keys to look at, in how many passes all words are compared, which one this is.

The answer is the keys of items that are not in the index, or have changed.
"""

READ_ITEMS = Script("""
local rows = {}
for _, key in ipairs(ARGV) do
  local category, guid = string.match(key, '^rss:category:(.*):([^:]*)$')
  local value = redis.pcall('GET', key)
  rows[#rows + 1] = {type(value) == 'string' and value, redis.call('PTTL', key),
    redis.call('HGET', 'rss:foreign:' .. category, guid)}
end
return rows
""")
"""Keys of items."""

PLACE_ITEMS = Script(
    VERSION_FUNCTIONS
    + """
local touched = {}
for at = 3, #ARGV, 5 do
  local category, guid, mark = ARGV[at], ARGV[at + 1], ARGV[at + 3]
  local index, expiry = 'rss:index:' .. category, 'rss:expiry:' .. category
  local value = redis.pcall('GET', 'rss:category:' .. category .. ':' .. guid)
  if type(value) == 'string' and redis.sha1hex(value) == ARGV[at + 4] then
    if mark ~= '' then redis.call('HSET', 'rss:foreign:' .. category, guid, mark) end
    if string.sub(mark, 1, 1) == '!' then
      redis.call('ZREM', expiry, guid)
      redis.call('HSETNX', 'rss:changed', category, 0)
      if redis.call('ZREM', index, guid) == 1 then touched[category] = true end
    else
      redis.call('ZADD', index, 0, guid)
      redis.call('ZADD', expiry, ARGV[at + 2], guid)
      touched[category] = true
    end
  end
end
for category in pairs(touched) do category_changed(category, ARGV[2]) end
return 1
"""
)
"""The moment of the clock, that of the pass.

Per item: category, guid, when it ends, mark, SHA-1.
"""

SWEEP = Script(
    VERSION_FUNCTIONS
    + """
local now, category, after, count = tonumber(ARGV[2]), ARGV[3], ARGV[4], tonumber(ARGV[5])
local index, expiry = 'rss:index:' .. category, 'rss:expiry:' .. category
local foreign, gone, is_changed = 'rss:foreign:' .. category, 0, false
local function drop(guid)
  redis.call('ZREM', index, guid)
  redis.call('ZREM', expiry, guid)
  if redis.call('HDEL', foreign, guid) == 0 then
    redis.call('DEL', 'rss:category:' .. category .. ':' .. guid)
  end
end
local function set_aside(guid)
  local mark = redis.call('HGET', foreign, guid)
  if not mark or redis.call('EXISTS', 'rss:category:' .. category .. ':' .. guid) == 0 then
    return false
  end
  redis.call('ZREM', index, guid)
  redis.call('ZREM', expiry, guid)
  redis.call('HSET', foreign, guid, '!' .. string.match(mark, '^[^:]*'))
  return true
end
local ended = redis.call('ZRANGEBYSCORE', expiry, '-inf', ARGV[2], 'WITHSCORES', 'LIMIT', 0, count)
for at = 1, #ended, 2 do
  if not set_aside(ended[at]) then drop(ended[at]) end
  gone = math.max(gone, tonumber(ended[at + 1]))
end
local guids = ARGV[7] == '0' and {} or redis.call('ZRANGEBYLEX', index,
  after == '' and '-' or '(' .. after, '+', 'LIMIT', 0, count)
for _, guid in ipairs(guids) do
  if redis.call('EXISTS', 'rss:category:' .. category .. ':' .. guid) == 0 then
    local till = tonumber(redis.call('ZSCORE', expiry, guid) or '0')
    drop(guid)
    if till > now + tonumber(ARGV[6]) then is_changed = true else gone = math.max(gone, till) end
  end
end
if gone > tonumber(redis.call('HGET', 'rss:gone', category) or '0') then
  redis.call('HSET', 'rss:gone', category, string.format('%.0f', gone))
end
if is_changed then category_changed(category, ARGV[2]) end
if #ended == 2 * count then return after end
return #guids == count and guids[#guids] or false
"""
)
"""The moment of the clock, that of the pass, category, after which guid, how many, how far clocks
may differ, and whether the whole index is checked.

Expired items are deleted, and items that are in the index though they were removed. An expiry is no
change: a reader of an item knows when it ends. Another tool's item that still exists is set aside:
it would live again if it were found again with a date later than the day of its first find.
The answer is the guid after which to go on.
"""

SWEEP_MARKS = Script(
    VERSION_FUNCTIONS
    + """
local category = ARGV[2]
local foreign = 'rss:foreign:' .. category
local page = redis.call('HSCAN', foreign, ARGV[3], 'COUNT', ARGV[4])
for at = 1, #page[2], 2 do
  if redis.call('EXISTS', 'rss:category:' .. category .. ':' .. page[2][at]) == 0 then
    redis.call('HDEL', foreign, page[2][at])
  end
end
local changed = redis.call('HGET', 'rss:changed', category)
local gone = redis.call('HGET', 'rss:gone', category)
if page[1] == '0' and redis.call('EXISTS', foreign, 'rss:index:' .. category) == 0 and
    math.max(tonumber(changed or '0'), tonumber(gone or '0')) < tonumber(ARGV[5]) then
  redis.call('HDEL', 'rss:gone', category)
  redis.call('HDEL', 'rss:changed', category)
  redis.call('DEL', 'rss:expiry:' .. category)
  told('c', category)
end
return page[1]
"""
)
"""The moment, category, cursor, how many, and before when a category is forgotten.

Marks of items that are gone are deleted, and so is an empty category in which nothing happened.
"""

RENEW = Script("""
if redis.call('GET', 'rss:upkeep') ~= ARGV[1] then return 0 end
return redis.call('PEXPIRE', 'rss:upkeep', ARGV[2])
""")
"""The owner of the lock, for how many milliseconds more."""

RELEASE = Script("""
if redis.call('GET', 'rss:upkeep') ~= ARGV[1] then return 0 end
if ARGV[2] == '0' then return redis.call('DEL', 'rss:upkeep') end
return redis.call('SET', 'rss:upkeep', 'resting', 'PX', ARGV[2])
""")
"""The owner of the lock, for how many milliseconds no other pass is needed."""
