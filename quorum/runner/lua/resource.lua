-- What FENCE.CHECK remembers of a resource: the largest token, as a string that ends when it may be forgotten. It is only
-- ever raised, whatever becomes of the run: a token that was refused elsewhere does no harm here.
-- checkToken answers 1 and remembers a token, unless a larger one was seen: then it answers 0. That the node cannot
-- remember ends the run.
local function checkToken(resource, token)
  local n = string.match(token, '^[1-9]%d*$') and #token <= 16 and tonumber(token)
  if not n or n > 9007199254740991 then return {err = $BADTOKEN} end
  checked = true
  local key = '__redfence__fence:' .. resource
  local last = call('GET', key)
  if last and tonumber(last) > n then return 0 end
  local r = redis.pcall('SET', key, string.format('%.0f', n), 'PX', math.max(call('PTTL', key), tonumber(memory)))
  if r.err then
    sick = sick or r.err
    return r
  end
  return 1
end

local function lastToken(resource)
  local last = call('GET', '__redfence__fence:' .. resource)
  return last and tonumber(last)
end
