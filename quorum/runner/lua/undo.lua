-- Puts back what a request wrote, for each key that still has the version that the write gave it. ARGV, for each key:
-- name, version after (number, request), version before, existed, image, its end, token of the instance before.
if refusal then return refusal end
local out = {}
for i = 1, argn - 2, 9 do
  local key, existed, image, till = ARGV[i], ARGV[i + 5] == '1', ARGV[i + 6], tonumber(ARGV[i + 7])
  local number, request, mark = lookup(key)
  local mine = number == tonumber(ARGV[i + 1]) and request == ARGV[i + 2] and (not existed or image ~= '')
  if mine then
    number, request = tonumber(ARGV[i + 3]), ARGV[i + 4]
    local value = existed and cmsgpack.unpack(image) or {}
    if put(key, value[1], value[2], till) then
      remember(key, number, request, mark, tonumber(ARGV[i + 8]), till)
    else
      remember(key, number, request, mark, 0, 0)
    end
  end
  out[#out + 1] = list({int(mine and 1 or 0), int(number), bulk(request), int(call('EXISTS', key))})
end
return 'A' .. stamp .. list(out)
