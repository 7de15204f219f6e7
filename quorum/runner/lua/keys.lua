-- What a node keeps about a key is in the string __redfence__:<key>, which outlives it by a day:
-- "<number> <mark> <token> <till> <request>". The version is number and request. till is the instant (ms of this
-- node) at which the instance with the token ends: -1 for never, 0 when the key was absent.
local outliving = 86400000

local function known(companion)
  if companion then
    local number, mark, token, till, request = string.match(companion, '^(%d+) (%d+) (%d+) (%-?%d+) (.*)$')
    if number then return tonumber(number), request, tonumber(mark), tonumber(token), tonumber(till) end
  end
  return 0, '', 0, 0, 0
end

-- chained is the request of the version after one: it depends on the versions before (tally.Version.Next).
local function chained(id, before)
  if before == '' then return id end
  return id .. '~' .. string.sub(redis.sha1hex(before), 1, 10)
end

local function lookup(key) return known(call('GET', '__redfence__:' .. key)) end

-- alive is the token of a key that is present. When its instance has ended, somebody else has set it.
local function alive(token, till)
  if till == -1 or till + 1 >= now then return token end
  return 0
end

local function remember(key, number, request, mark, token, till)
  local text = string.format('%d %d %d %d ', number, mark, token, till) .. request
  if till == -1 then
    call('SET', '__redfence__:' .. key, text)
  else
    call('SET', '__redfence__:' .. key, text, 'PX', math.max(till - now, 0) + outliving)
  end
end

-- content reads a value: its type and its parts. A type that the table of commands has no commands for is one part,
-- as DUMP gives it.
local function content(key)
  local kind = call('TYPE', key).ok
  if kind == 'string' then return kind, {call('GET', key)} end
  if kind == 'hash' then return kind, call('HGETALL', key) end
  if kind == 'list' then return kind, call('LRANGE', key, 0, -1) end
  if kind == 'set' then return kind, call('SMEMBERS', key) end
  if kind == 'zset' then return kind, call('ZRANGE', key, 0, -1, 'WITHSCORES') end
  if kind == 'none' then return nil end
  return kind, {call('DUMP', key)}
end

-- name gives equal contents equal names. What has no order is put into one by hashes, whose digits every locale
-- sorts alike (Lua compares strings by the locale of the server).
local function name(kind, items)
  local parts, step = {}, (kind == 'hash' or kind == 'zset') and 2 or 1
  for i = 1, #items, step do
    local part = #items[i] .. ':' .. items[i]
    if step == 2 then part = part .. #items[i + 1] .. ':' .. items[i + 1] end
    parts[#parts + 1] = part
  end
  if #parts > 1 and kind ~= 'list' then
    for i = 1, #parts do parts[i] = redis.sha1hex(parts[i]) end
    table.sort(parts)
  end
  local text = kind .. ' ' .. table.concat(parts)
  if #text <= 64 then return text end
  return '#' .. redis.sha1hex(text)
end

local function writeItems(command, key, items)
  for i = 1, #items, 4000 do call(command, key, unpack(items, i, math.min(i + 3999, #items))) end
end

-- put gives a key a value that ends at till (-1: never), or takes it away when kind is nil or till is over.
local function put(key, kind, items, till)
  call('DEL', key)
  if not kind or till ~= -1 and till <= now then return false end
  if kind == 'string' then
    call('SET', key, items[1])
  elseif kind == 'hash' then
    writeItems('HSET', key, items)
  elseif kind == 'list' then
    writeItems('RPUSH', key, items)
  elseif kind == 'set' then
    writeItems('SADD', key, items)
  elseif kind == 'zset' then
    local turned = {}
    for i = 1, #items, 2 do turned[i], turned[i + 1] = items[i + 1], items[i] end
    writeItems('ZADD', key, turned)
  else
    call('RESTORE', key, 0, items[1])
  end
  if till ~= -1 then call('PEXPIREAT', key, till) end
  return true
end
