-- Reads a part of the database: the keys, and those of which only the companion is there; and what FENCE.CHECK remembers.
-- ARGV: cursor, count.
if refusal then return refusal end
local found = call('SCAN', ARGV[1], 'COUNT', ARGV[2])
local out, had, seen = {}, {}, {}
for i = 1, #found[2] do
  local key = found[2][i]
  if string.sub(key, 1, 13) == '__redfence__:' then
    key = string.sub(key, 14)
  elseif string.sub(key, 1, 18) == '__redfence__fence:' then
    local token, left = tonumber(call('GET', key) or 0), call('PTTL', key)
    if left > 0 then seen[#seen + 1] = list({bulk(string.sub(key, 19)), int(token), int(left)}) end
    key = nil
  elseif string.sub(key, 1, 12) == '__redfence__' then
    key = nil
  end
  if key and not had[key] then
    had[key] = true
    out[#out + 1] = state(key)
  end
end
return 'A' .. stamp .. list({bulk(found[1]), list(out), list(seen)})
