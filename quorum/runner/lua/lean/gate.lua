-- The gate of the lean forms: one read for the canary, the companion and, where it is needed, the string. KEYS: the
-- key. The last arguments are deadline and canary, see lua/gate.lua.
local argn = #ARGV
local known = redis.call('MGET', '__redfence__', '__redfence__:' .. KEYS[1]$READ)
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
if ARGV[argn] ~= '' and known[1] ~= ARGV[argn] then
  return string.format('V%.0f ', time[1] * 1000000 + time[2]) .. (known[1] or '')
end
if ARGV[argn - 1] ~= '0' and now > tonumber(ARGV[argn - 1]) then
  return string.format('L%.0f ', time[1] * 1000000 + time[2])
end
local number, mark, token, till, request = '0', '0', '0', '0', ''
if known[2] then
  number, mark, token, till, request = string.match(known[2], '^(%d+) (%d+) (%d+) (%-?%d+) (.*)$')
end
-- What makes the version after depend on that before (tally.Version.Next).
local link = request == '' and '' or '~' .. string.sub(redis.sha1hex(request), 1, 10)
-- An answer: time, what happened, version before, token after, token before, end after (ms), end before, then
-- length-prefixed request of the version before, and what was read.
