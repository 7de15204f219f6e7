-- What proxies count, each as it says itself. KEYS: the canary, the list (hash: proxy to "last seen in ms" and text). ARGV: the
-- own proxy, its text ('': it counts nothing), for how many ms others are believed, and remembered.
-- A node without a canary is told nothing: it must look as empty as it is.
if redis.call('EXISTS', KEYS[1]) == 0 then return {} end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
if ARGV[2] == '' then
  redis.call('HDEL', KEYS[2], ARGV[1])
else
  redis.call('HSET', KEYS[2], ARGV[1], string.format('%.0f ', now) .. ARGV[2])
end
redis.call('PEXPIRE', KEYS[2], ARGV[4])
local out = {}
local list = redis.call('HGETALL', KEYS[2])
for i = 1, #list, 2 do
  local seen, text = string.match(list[i + 1], '^(%d+) (.*)$')
  local silent = now - (tonumber(seen) or 0)
  if silent < 0 or silent > tonumber(ARGV[4]) then
    redis.call('HDEL', KEYS[2], list[i])
  elseif silent <= tonumber(ARGV[3]) and list[i] ~= ARGV[1] then
    out[#out + 1] = text
  end
end
return out
