-- The gate of the other lean forms: one read for the canary, the companion and, where it is needed, the string. KEYS: the
-- key. The last arguments are deadline and canary, see lua/gate.lua.
local argn = #ARGV
local known = redis.call('MGET', '__redfence__', '__redfence__:' .. KEYS[1]$READ)
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
if ARGV[argn] ~= '' and known[1] ~= ARGV[argn] then
  return string.format('V%d ', time[1] * 1000000 + time[2]) .. (known[1] or '')
end
if ARGV[argn - 1] ~= '0' and now > tonumber(ARGV[argn - 1]) then
  return string.format('L%d ', time[1] * 1000000 + time[2])
end
local companion = known[2] or ''
-- An answer: time (s, us), what happened, length of the companion before, the companion, and what was read.
local function answer(what, read)
  return 'a' .. time[1] .. ' ' .. time[2] .. ' ' .. what .. ' ' .. #companion .. ' ' .. companion .. (read or '')
end
