-- Locks that are taken, released and extended, one or many in one call, each as if it were alone. With most the proxy says
-- what it believes the companion to be and what is to stand there after. When it is right, nothing is left to compute.
-- ARGV: for each its letter and arguments, as below; then the deadline in ms of the node's clock, and the canary.
--   s, key, belief, value, ttl, head, tail: SET NX PX. The companion after is head, the end, tail. S: the same, and the
--   companion is shown when the key is there.
--   r, key, belief, value, companion after: compare-and-delete.
--   e, key, value, ttl, id: compare-and-expire.
-- It answers the time (s, us) and for each what happened: 1 done, 0 another value, -1 absent, -2 no string. When the
-- belief was wrong, or there was none, that is a string: what happened, the end before in ms, the companion before.
local argn, call, format, match = #ARGV, redis.call, string.format, string.match
local time = call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
if ARGV[argn] ~= '' then
  local canary = call('GET', '__redfence__')
  if canary ~= ARGV[argn] then return format('V%d ', time[1] * 1000000 + time[2]) .. (canary or '') end
end
if now > tonumber(ARGV[argn - 1]) then return format('L%d ', time[1] * 1000000 + time[2]) end
local out, n, i = {time[1] .. ' ' .. time[2]}, 1, 1

local function known(companion)
  if not companion then return '0', '0', '0', '0', '' end
  return match(companion, '^(%d+) (%d+) (%d+) (%-?%d+) (.*)$')
end

-- after begins the companion of the next version: its number.
local function after(number) return format('%d ', number + 1) end

-- chained ends it: what makes that version depend on the one before (tally.Version.Next).
local function chained(id, before)
  if before == '' then return ' ' .. id end
  return ' ' .. id .. '~' .. string.sub(redis.sha1hex(before), 1, 10)
end

local function keep(key, companion, ttl) return call('SET', '__redfence__:' .. key, companion, 'PX', ttl, 'GET') end

local function shown(what, till, companion) return what .. ' ' .. till .. ' ' .. (companion or '') end

-- other is the answer where the value is not the one that was asked for.
local function other(key, value)
  local what = not value and '-1' or type(value) == 'table' and '-2' or '0'
  return shown(what, '0', call('GET', '__redfence__:' .. key))
end

local function take(key, belief, value, ttl, head, tail, wanted)
  local till = format('%d', now + ttl)
  if not call('SET', key, value, 'NX', 'PXAT', till) then
    return wanted and shown('0', '0', call('GET', '__redfence__:' .. key)) or 0
  end
  local was = keep(key, head .. till .. tail, '172800000')
  if (was or '') == belief then return 1 end
  local number, mark, _, _, request = known(was)
  local token = match(head, '^%d+ (%d+)')
  if tonumber(token) <= tonumber(mark) then token = format('%d', mark + 1) end
  keep(key, after(number) .. token .. ' ' .. token .. ' ' .. till .. chained(match(tail, '^ ([^~]*)'), request), '172800000')
  return shown('1', '0', was)
end

local function release(key, belief, value, new)
  local have = redis.pcall('GET', key)
  if have ~= value then return other(key, have) end
  call('DEL', key)
  local was = keep(key, new, '86400000')
  if (was or '') == belief then return 1 end
  local number, mark, _, _, request = known(was)
  keep(key, after(number) .. mark .. ' 0 0' .. chained(match(new, '^%d+ %d+ 0 0 ([^~]*)'), request), '86400000')
  return shown('1', '0', was)
end

local function extend(key, value, ttl, id)
  local have = redis.pcall('GET', key)
  if have ~= value then return other(key, have) end
  local before, till = format('%d', call('PEXPIRETIME', key)), format('%d', now + ttl)
  local was = call('GET', '__redfence__:' .. key)
  local number, mark, token, ends, request = known(was)
  if ends ~= '-1' and ends + 1 < now then token = '0' end
  call('PEXPIREAT', key, till)
  keep(key, after(number) .. mark .. ' ' .. token .. ' ' .. till .. chained(id, request), '172800000')
  return shown('1', before, was)
end

local function work()
  while i < argn - 1 do
    local at, letter = i, ARGV[i]
    n = n + 1
    if letter == 'r' then
      i = i + 5
      out[n] = release(ARGV[at + 1], ARGV[at + 2], ARGV[at + 3], ARGV[at + 4])
    elseif letter == 'e' then
      i = i + 5
      out[n] = extend(ARGV[at + 1], ARGV[at + 2], ARGV[at + 3], ARGV[at + 4])
    else
      i = i + 7
      out[n] = take(ARGV[at + 1], ARGV[at + 2], ARGV[at + 3], ARGV[at + 4], ARGV[at + 5], ARGV[at + 6], letter == 'S')
    end
  end
end

-- An error ends one operation only. Redis makes it a string in pcall.
while i < argn - 1 do
  local ok, failure = pcall(work)
  if not ok then
    failure = type(failure) == 'table' and failure.err or failure
    out[n] = {err = match(failure, '^%u+ ') and failure or 'ERR ' .. failure}
  end
end
return out
