"""Lua scripts for items, which run on the server atomically."""

from headwater.personal_feeds.redis.connection import Script
from headwater.personal_feeds.redis.versions import VERSION_FUNCTIONS

_FIND = """
local function key_of(category, guid)
  return 'rss:category:' .. category .. ':' .. guid
end
local function ends(category, guid)
  return redis.call('ZSCORE', 'rss:expiry:' .. category, guid)
end
local function lives(category, guid)
  local till = ends(category, guid)
  if till and tonumber(till) <= tonumber(ARGV[1]) then return false end
  return redis.call('EXISTS', key_of(category, guid)) == 1
end
local function found(category, guid, caller)
  if lives(category, guid) then return guid end
  local first = caller ~= '' and redis.call('GET', 'rss:caller:' .. caller .. ':' .. category)
  return first and lives(category, first) and first
end
"""

ADD = Script(
    VERSION_FUNCTIONS
    + _FIND
    + """
local answers, touched, category, guid, caller = {}, {}, nil, nil, nil
local function note_place(left)
  local key = 'rss:places:' .. caller
  redis.call('SADD', key, category)
  if redis.call('PTTL', key) < tonumber(left) then redis.call('PEXPIRE', key, left) end
end
for at = 2, #ARGV, 6 do
  category, guid = ARGV[at], ARGV[at + 1]
  local there = found(category, guid, ARGV[at + 2])
  redis.call('ZSCORE', 'rss:index:' .. category, guid)
  redis.call('SCARD', 'rss:places:' .. ARGV[at + 2])
  answers[#answers + 1] = {there or guid, there and ends(category, there) or ARGV[at + 3],
    (not there and ARGV[at + 4] ~= '0') and 1 or 0}
end
for place, answer in ipairs(answers) do
  local at = 2 + (place - 1) * 6
  category, guid, caller = ARGV[at], ARGV[at + 1], ARGV[at + 2]
  if answer[3] == 1 then
    redis.call('SET', key_of(category, guid), ARGV[at + 5], 'PX', ARGV[at + 4])
    redis.call('ZADD', 'rss:index:' .. category, 0, guid)
    redis.call('ZADD', 'rss:expiry:' .. category, ARGV[at + 3], guid)
    redis.call('HDEL', 'rss:foreign:' .. category, guid)
    if caller ~= '' then
      redis.call('SET', 'rss:caller:' .. caller .. ':' .. category, guid, 'PX', ARGV[at + 4])
      note_place(ARGV[at + 4])
    end
    touched[category] = true
  end
end
for name in pairs(touched) do category_changed(name, ARGV[1]) end
return answers
"""
)
"""Per item: category, guid, hash of the caller's id, when it ends, milliseconds until then, JSON.

First everything is read, so that nothing is written when there is an error.
"""

FIND_ITEMS = Script(
    _FIND
    + """
local answers = {}
for at = 2, #ARGV, 3 do
  local category = ARGV[at]
  local there = found(category, ARGV[at + 1], ARGV[at + 2])
  answers[#answers + 1] = there and {there, redis.call('GET', key_of(category, there)),
    ends(category, there), redis.call('HGET', 'rss:foreign:' .. category, there)}
end
return answers
"""
)
"""Per item: category, guid, hash of the caller's id.

The answer is the stored item, if there is one.
"""

LIST_CATEGORIES = Script(
    """
local answers = {}
for at = 1, #ARGV do answers[at] = redis.call('SMEMBERS', 'rss:places:' .. ARGV[at]) end
return answers
"""
)
"""Hashes of callers' ids. The answer has the categories of each one's items."""

REVISE = Script(
    VERSION_FUNCTIONS
    + """
for at = 2, #ARGV, 4 do
  local there = redis.call('GET', 'rss:category:' .. ARGV[at] .. ':' .. ARGV[at + 1])
  if not there or redis.sha1hex(there) ~= ARGV[at + 2] then return 0 end
end
for at = 2, #ARGV, 4 do
  local key = 'rss:category:' .. ARGV[at] .. ':' .. ARGV[at + 1]
  redis.call('SET', key, ARGV[at + 3], 'KEEPTTL')
  category_changed(ARGV[at], ARGV[1])
end
return 1
"""
)
"""Per item: category, guid, SHA-1 of the stored JSON, the new JSON. All or none."""

_ROW = """
local function row(category, place, guid)
  local value = redis.pcall('GET', 'rss:category:' .. category .. ':' .. guid)
  if type(value) == 'table' then value = false end
  return {place, guid, value, redis.call('ZSCORE', 'rss:expiry:' .. category, guid),
    redis.call('HGET', 'rss:foreign:' .. category, guid)}
end
"""

# Lua compares text by the server's locale. UUIDs have the same order in each; as soon as there is a
# guid of another form, all are compared by bytes, as the index does.
_ORDER = """
local is_odd = false
local function look_at(guid)
  if #guid ~= 36 or string.find(guid, '[^0-9a-f-]') or string.byte(guid, 9) ~= 45 then
    is_odd = true
  end
end
local function below(a, b)
  if not is_odd then return a < b end
  for at = 1, math.min(#a, #b) do
    local one, other = string.byte(a, at), string.byte(b, at)
    if one ~= other then return one < other end
  end
  return #a < #b
end
local function is_older(a, b)
  if a.guid == b.guid then return a.place > b.place end
  return below(a.guid, b.guid)
end
"""

NEWEST = Script(
    _ROW
    + _ORDER
    + """
local limit, top = tonumber(ARGV[2]), ARGV[3] == '' and '+' or '(' .. ARGV[3]
local heads, rows, guids, last = {}, {}, 0, nil
local function latest(hash)
  local found = 0
  for first = 4, #ARGV, 1000 do
    local some = redis.call('HMGET', hash, unpack(ARGV, first, math.min(first + 999, #ARGV)))
    for _, moment in ipairs(some) do found = math.max(found, tonumber(moment or '0')) end
  end
  return found
end
local function latest_end()
  local found = latest('rss:gone')
  for place = 4, #ARGV do
    local ended = redis.call('ZREVRANGEBYSCORE', 'rss:expiry:' .. ARGV[place], ARGV[1], '-inf',
      'WITHSCORES', 'LIMIT', 0, 1)[2]
    found = math.max(found, tonumber(ended or '0'))
  end
  return found
end
local function step(head, from, count)
  if not head.ahead or head.at == #head.ahead then
    head.at, head.ahead = 0, redis.call('ZREVRANGEBYLEX', 'rss:index:' .. ARGV[head.place], from,
      '-', 'LIMIT', 0, count)
    for _, guid in ipairs(head.ahead) do look_at(guid) end
  end
  head.at = head.at + 1
  head.guid = head.ahead[head.at]
  return head.guid
end
local function put_back(head)
  local low, high = 1, #heads + 1
  while low < high do
    local middle = math.floor((low + high) / 2)
    if is_older(heads[middle], head) then low = middle + 1 else high = middle end
  end
  table.insert(heads, low, head)
end
for place = 4, #ARGV do
  local head = {place = place}
  if step(head, top, 1) then heads[#heads + 1] = head end
end
table.sort(heads, is_older)
while #heads > 0 do
  local head = table.remove(heads)
  if head.guid ~= last then guids, last = guids + 1, head.guid end
  if guids > limit then break end
  rows[#rows + 1] = row(ARGV[head.place], head.place - 4, head.guid)
  if step(head, '(' .. head.guid, 16) then put_back(head) end
end
return {string.format('%.0f', latest('rss:changed')),
  string.format('%.0f', guids > limit and 0 or latest_end()), guids > limit and 1 or 0, rows}
"""
)
"""The moment, how many guids, before which one (empty: from the newest on), categories.

This is a merge: the newest of the categories' newest items is taken, and the next one of its
category takes its place. The answer has whether there are more.
"""

LIST_ITEMS = Script(
    _ROW
    + """
local from, rows = ARGV[2] == '' and '-' or '(' .. ARGV[2], {}
local guids = redis.call('ZRANGEBYLEX', 'rss:index:' .. ARGV[1], from, '+', 'LIMIT', 0, ARGV[3])
for _, guid in ipairs(guids) do rows[#rows + 1] = row(ARGV[1], 0, guid) end
return rows
"""
)
"""Category, after which guid (empty: from the oldest on), how many."""
