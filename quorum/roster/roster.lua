-- One look at a node's list of proxies. KEYS: the canary, the list (hash: id to "last seen in ms" and card), who leads.
-- ARGV: own id, own card ('': forget me), for how many ms others are remembered, the lease in ms, 'take', 'leave' or 'look'.
-- A node without a canary is told nothing: it must look as empty as it is.
if redis.call('EXISTS', KEYS[1]) == 0 then return {} end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
if ARGV[2] == '' then
  redis.call('HDEL', KEYS[2], ARGV[1])
else
  redis.call('HSET', KEYS[2], ARGV[1], string.format('%.0f ', now) .. ARGV[2])
  redis.call('PEXPIRE', KEYS[2], ARGV[3]) -- without a TTL it would look like a lock that has none
end
local leader = redis.call('GET', KEYS[3]) or ''
if leader == '' and ARGV[5] == 'take' then
  leader = ARGV[1]
  redis.call('SET', KEYS[3], leader, 'PX', ARGV[4])
elseif leader == ARGV[1] and ARGV[5] == 'take' then
  redis.call('PEXPIRE', KEYS[3], ARGV[4])
elseif leader == ARGV[1] and ARGV[5] == 'leave' then
  leader = ''
  redis.call('DEL', KEYS[3])
end
local out = {leader}
local list = redis.call('HGETALL', KEYS[2])
for i = 1, #list, 2 do
  local seen, card = string.match(list[i + 1], '^(%d+) (.*)$')
  local silent = now - (tonumber(seen) or 0)
  if silent > tonumber(ARGV[3]) then
    redis.call('HDEL', KEYS[2], list[i])
  else
    out[#out + 1] = list[i]
    out[#out + 1] = card
    out[#out + 1] = math.max(silent, 0)
  end
end
return out
