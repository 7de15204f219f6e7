-- Reads a part of the database: the keys, and those of which only the companion is there. ARGV: cursor, count.
if refusal then return refusal end
local found = call('SCAN', ARGV[1], 'COUNT', ARGV[2])
local out, had = {}, {}
for i = 1, #found[2] do
  local key = found[2][i]
  if string.sub(key, 1, 13) == '__redfence__:' then
    key = string.sub(key, 14)
  elseif string.sub(key, 1, 12) == '__redfence__' then
    key = nil
  end
  if key and not had[key] then
    had[key] = true
    out[#out + 1] = state(key)
  end
end
return 'A' .. stamp .. list({bulk(found[1]), list(out)})
