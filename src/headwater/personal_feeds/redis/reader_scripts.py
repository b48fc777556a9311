"""Lua scripts for readers and tokens, which run on the server atomically.

`rss:readers` has the id of each reader by name; `rss:reader:ID` has our facts of one. The
categories are in a key of their own, which any tool may read and write; `seen` is the SHA-1 of them
as we last read them.
"""

from headwater.personal_feeds.redis.connection import Script
from headwater.personal_feeds.redis.versions import VERSION_FUNCTIONS

_CATEGORIES = """
local function followed(id)
  local written = redis.pcall('GET', 'rss:user:' .. id .. ':categories')
  return type(written) == 'string' and written or ''
end
"""

_KNOWN = (
    _CATEGORIES
    + """
local function known(id)
  local kept = redis.call('HMGET', 'rss:reader:' .. id, 'name', 'created_at', 'changed_at')
  return kept[1] and {id, kept[1], kept[2], kept[3], followed(id)}
end
"""
)

# Another tool's reader gets their id as the name, with a number where that name is taken.
_ADOPT = (
    _KNOWN
    + """
local function adopt(id)
  local name, number = id, 1
  local whose = redis.call('HGET', 'rss:readers', name)
  while whose and whose ~= id do
    number = number + 1
    name = id .. ' (' .. number .. ')'
    whose = redis.call('HGET', 'rss:readers', name)
  end
  redis.call('HSET', 'rss:readers', name, id)
  redis.call('HSET', 'rss:reader:' .. id, 'name', name, 'created_at', ARGV[1],
    'changed_at', ARGV[1], 'seen', redis.sha1hex(followed(id)))
  redis.call('HDEL', 'rss:removed', id)
  reader_changed(id)
end
"""
)

READERS = Script(
    _KNOWN
    + """
local rows = {}
for at = 1, #ARGV do rows[at] = known(ARGV[at]) end
return rows
"""
)
"""Ids."""

ADD_READER = Script(
    VERSION_FUNCTIONS
    + """
local id, name = ARGV[2], ARGV[3]
if redis.call('HEXISTS', 'rss:readers', name) == 1 then return 'name' end
if redis.call('EXISTS', 'rss:reader:' .. id) == 1 then return 'id' end
if redis.call('HLEN', 'rss:readers') >= tonumber(ARGV[7]) then return 'most' end
redis.call('HSET', 'rss:readers', name, id)
redis.call('HSET', 'rss:reader:' .. id, 'name', name, 'created_at', ARGV[4], 'changed_at', ARGV[5],
  'seen', redis.sha1hex(ARGV[6]))
redis.call('SET', 'rss:user:' .. id .. ':categories', ARGV[6])
redis.call('HDEL', 'rss:removed', id)
reader_changed(id)
return 'ok'
"""
)
"""The moment, id, name, when made, when changed, categories, how many there may be."""

CHANGE_READER = Script(
    VERSION_FUNCTIONS
    + _CATEGORIES
    + """
local id, name, written = ARGV[2], ARGV[3], ARGV[4]
local kept = redis.call('HMGET', 'rss:reader:' .. id, 'name', 'changed_at')
if kept[1] ~= ARGV[6] or followed(id) ~= ARGV[7] then return 'again' end
if name ~= kept[1] then
  if redis.call('HEXISTS', 'rss:readers', name) == 1 then return 'name' end
  redis.call('HDEL', 'rss:readers', kept[1])
  redis.call('HSET', 'rss:readers', name, id)
end
if written ~= ARGV[7] then redis.call('SET', 'rss:user:' .. id .. ':categories', written) end
redis.call('HSET', 'rss:reader:' .. id, 'name', name, 'changed_at', ARGV[5],
  'seen', redis.sha1hex(written))
reader_changed(id)
return 'ok'
"""
)
"""The moment, id, name, categories, when changed; name and categories as they were."""

_DROP = """
local function drop(hex)
  local kept = redis.call('HMGET', 'rss:token-record:' .. hex, 'id', 'reader')
  redis.call('DEL', 'rss:token:sha256:' .. hex, 'rss:token-record:' .. hex)
  if kept[1] then
    redis.call('HDEL', 'rss:token-ids', kept[1])
    redis.call('HDEL', 'rss:token-used', kept[1])
    redis.call('SREM', 'rss:tokens:' .. kept[2], hex)
  end
end
"""

REMOVE_READER = Script(
    VERSION_FUNCTIONS
    + _DROP
    + """
local id = ARGV[2]
local name = redis.call('HGET', 'rss:reader:' .. id, 'name')
if not name then return 0 end
for _, hex in ipairs(redis.call('SMEMBERS', 'rss:tokens:' .. id)) do drop(hex) end
redis.call('HDEL', 'rss:readers', name)
redis.call('DEL', 'rss:reader:' .. id, 'rss:tokens:' .. id, 'rss:user:' .. id .. ':categories')
redis.call('HSET', 'rss:removed', id, ARGV[3])
reader_changed(id)
return 1
"""
)
"""The moment, id, when. A token that another tool wrote for them in plain opens nothing either."""

_TOKENS = """
local function token(hex)
  local kept = redis.call('HMGET', 'rss:token-record:' .. hex, 'id', 'reader', 'hint', 'created_at',
    'until', 'revoked_at')
  return kept[1] and {hex, kept[1], kept[2], kept[3], kept[4], kept[5], kept[6],
    redis.call('HGET', 'rss:token-used', kept[1])}
end
local function is_open(kept, at)
  return not kept[7] and (not kept[6] or tonumber(at) < tonumber(kept[6]))
end
"""

ADD_TOKEN = Script(
    VERSION_FUNCTIONS
    + _TOKENS
    + """
local hex, id, reader = ARGV[2], ARGV[3], ARGV[4]
local made, till, revoked, used = ARGV[6], ARGV[7], ARGV[8], ARGV[9]
if redis.call('EXISTS', 'rss:reader:' .. reader) == 0 then return 'reader' end
local opens = revoked == '' and (till == '' or tonumber(made) < tonumber(till))
local open = 0
for _, other in ipairs(redis.call('SMEMBERS', 'rss:tokens:' .. reader)) do
  local kept = token(other)
  if kept and is_open(kept, made) then open = open + 1 end
end
if opens and open >= tonumber(ARGV[10]) then return 'most' end
if redis.call('HEXISTS', 'rss:token-ids', id) == 1 or
    redis.call('EXISTS', 'rss:token-record:' .. hex, 'rss:token:sha256:' .. hex) > 0 then
  return 'token'
end
local record = 'rss:token-record:' .. hex
redis.call('HSET', record, 'id', id, 'reader', reader, 'hint', ARGV[5], 'created_at', made)
if till ~= '' then redis.call('HSET', record, 'until', till) end
if used ~= '' then redis.call('HSET', 'rss:token-used', id, used) end
if revoked ~= '' then
  redis.call('HSET', record, 'revoked_at', revoked)
else
  redis.call('SET', 'rss:token:sha256:' .. hex, reader)
end
redis.call('HSET', 'rss:token-ids', id, hex)
redis.call('SADD', 'rss:tokens:' .. reader, hex)
reader_changed(reader)
return 'ok'
"""
)
"""The moment, hash, id, reader, hint, when made, until, revoked, last used, how many open ones."""

TOKENS = Script(
    _TOKENS
    + """
local rows = {}
for _, hex in ipairs(redis.call('SMEMBERS', 'rss:tokens:' .. ARGV[1])) do
  local kept = token(hex)
  if kept then rows[#rows + 1] = kept end
end
return rows
"""
)
"""A reader's id."""

END_TOKEN = Script(
    VERSION_FUNCTIONS
    + """
local hex = redis.call('HGET', 'rss:token-ids', ARGV[2])
if not hex then return 0 end
local record = 'rss:token-record:' .. hex
local kept = redis.call('HMGET', record, 'reader', 'until', 'revoked_at')
if not kept[2] or tonumber(ARGV[3]) < tonumber(kept[2]) then
  redis.call('HSET', record, 'until', ARGV[3])
end
if ARGV[4] == '1' then
  if not kept[3] then redis.call('HSET', record, 'revoked_at', ARGV[5]) end
  redis.call('DEL', 'rss:token:sha256:' .. hex)
end
reader_changed(kept[1])
return 1
"""
)
"""The moment, id, until, whether it is revoked, when."""

NOTE_USED = Script("""
for at = 1, #ARGV, 2 do
  local id, moment = ARGV[at], ARGV[at + 1]
  local before = redis.call('HGET', 'rss:token-used', id)
  if redis.call('HEXISTS', 'rss:token-ids', id) == 1 and
      (not before or tonumber(before) < tonumber(moment)) then
    redis.call('HSET', 'rss:token-used', id, moment)
  end
end
return 1
""")
"""Id and moment of each."""

FIND_HOLDER = Script(
    _KNOWN
    + _TOKENS
    + """
local hex, plain = ARGV[2], ARGV[3]
if plain ~= '' and redis.call('TYPE', plain)['ok'] == 'string' then return 'upgrade' end
local id = redis.call('GET', 'rss:token:sha256:' .. hex)
if not id then return false end
local kept, reader = token(hex), known(id)
if not kept or not reader then return 'upgrade' end
if not is_open(kept, ARGV[1]) then return false end
return {kept[2], kept[6], reader}
"""
)
"""The moment, hash, the key where another tool would store this token in plain (empty: none)."""

UPGRADE_TOKEN = Script(
    VERSION_FUNCTIONS
    + _ADOPT
    + _TOKENS
    + """
local hex, plain, new_id, hint = ARGV[2], ARGV[3], ARGV[4], ARGV[5]
local record, kept = 'rss:token-record:' .. hex, token(hex)
if plain ~= '' and redis.call('TYPE', plain)['ok'] ~= 'string' then plain = '' end
local id = plain ~= '' and redis.call('GET', plain)
local left = id and redis.call('PTTL', plain) or -1
id = id or redis.call('GET', 'rss:token:sha256:' .. hex)
if not id then return 0 end
if kept and not is_open(kept, ARGV[1]) then
  if plain ~= '' then redis.call('DEL', plain) end
  return 0
end
if redis.call('HEXISTS', 'rss:removed', id) == 1 and followed(id) == '' then return 0 end
if not known(id) then adopt(id) end
if not kept then
  redis.call('HSET', record, 'id', new_id, 'hint', hint, 'created_at', ARGV[1])
  redis.call('HSET', 'rss:token-ids', new_id, hex)
elseif kept[3] ~= id then
  redis.call('SREM', 'rss:tokens:' .. kept[3], hex)
  reader_changed(kept[3])
end
if left > 0 then
  redis.call('HSET', record, 'until', string.format('%.0f', tonumber(ARGV[1]) + left * 1000))
end
redis.call('HSET', record, 'reader', id)
redis.call('SET', 'rss:token:sha256:' .. hex, id)
redis.call('SADD', 'rss:tokens:' .. id, hex)
if plain ~= '' then redis.call('DEL', plain) end
reader_changed(id)
return 1
"""
)
"""The moment, hash, the key of the plain token, an id for it, its hint.

It is stored by its hash from now on, and its reader is known. One that was revoked stays revoked,
also when a tool writes it again.
"""

NEW_READERS = Script("""
local page = redis.call('SCAN', ARGV[1], 'MATCH', 'rss:user:*:categories', 'COUNT', ARGV[2])
local ids = {}
for _, key in ipairs(page[2]) do
  local id = string.sub(key, 10, -12)
  local name = redis.call('HGET', 'rss:reader:' .. id, 'name')
  if not name or redis.call('HEXISTS', 'rss:readers', name) == 0 then ids[#ids + 1] = id end
end
return {page[1], ids}
""")
"""Cursor, how many keys to look at.

The answer is the readers that have categories but are not known.
"""

CHANGED_READERS = Script(
    _CATEGORIES
    + """
local ids = {}
for _, id in ipairs(ARGV) do
  local seen = redis.call('HGET', 'rss:reader:' .. id, 'seen')
  local is_changed = seen and seen ~= redis.sha1hex(followed(id))
  for _, hex in ipairs(redis.call('SMEMBERS', 'rss:tokens:' .. id)) do
    is_changed = is_changed or (redis.call('EXISTS', 'rss:token:sha256:' .. hex) == 0 and
      redis.call('HEXISTS', 'rss:token-record:' .. hex, 'revoked_at') == 0)
  end
  if is_changed then ids[#ids + 1] = id end
end
return ids
"""
)
"""Ids. The answer is those whose categories changed, or whose token was removed."""

UPDATE_READER = Script(
    VERSION_FUNCTIONS
    + _ADOPT
    + """
local id = ARGV[2]
local written = followed(id)
local seen = redis.call('HGET', 'rss:reader:' .. id, 'seen')
if not seen then
  if written ~= '' then adopt(id) end
  return written
end
redis.call('HSETNX', 'rss:readers', redis.call('HGET', 'rss:reader:' .. id, 'name'), id)
if seen ~= redis.sha1hex(written) then
  redis.call('HSET', 'rss:reader:' .. id, 'seen', redis.sha1hex(written), 'changed_at', ARGV[1])
end
for _, hex in ipairs(redis.call('SMEMBERS', 'rss:tokens:' .. id)) do
  if redis.call('EXISTS', 'rss:token:sha256:' .. hex) == 0 then
    redis.call('HSETNX', 'rss:token-record:' .. hex, 'revoked_at', ARGV[1])
  end
end
reader_changed(id)
return written
"""
)
"""The moment, id. The answer is the categories now."""

FORGET_TOKENS = Script(
    _TOKENS
    + _DROP
    + """
for at = 2, #ARGV do
  for _, hex in ipairs(redis.call('SMEMBERS', 'rss:tokens:' .. ARGV[at])) do
    local kept = token(hex)
    local ended = kept and tonumber(kept[7] or kept[6] or '')
    if not kept or (ended and ended < tonumber(ARGV[1])) then drop(hex) end
  end
end
return 1
"""
)
"""The moment before which they ended, ids of readers."""
