-- Gives keys the states that other nodes have. ARGV, for each key: name, version (number, request), mark, token, type
-- ('' when absent), end, expected number ('' for any lower one, or the same when the key has gone), expected request,
-- instance (0: any), absent (1: it must be), again (1: the end of the same version is the source's), number of parts, parts.
if refusal then return refusal end
local out, i = {}, 1
while i <= argn - 2 do
  local key, newNumber, newRequest, newMark, newToken = ARGV[i], tonumber(ARGV[i + 1]), ARGV[i + 2], tonumber(ARGV[i + 3]), tonumber(ARGV[i + 4])
  local kind, till, expect, instance, parts = ARGV[i + 5], tonumber(ARGV[i + 6]), ARGV[i + 7], tonumber(ARGV[i + 9]), tonumber(ARGV[i + 12])
  local number, request, mark, token, tokenTill = lookup(key)
  local exists = call('EXISTS', key) == 1
  local same = number == newNumber and request == newRequest
  local gone = kind ~= '' and not exists and same
  local again = ARGV[i + 11] == '1' and same and exists and token ~= 0 and tokenTill > 0 and call('PEXPIRETIME', key) == tokenTill
  local may = expect == '' and (number < newNumber or gone or again) or expect ~= '' and number == tonumber(expect) and request == ARGV[i + 8]
  if instance ~= 0 and not (exists and alive(token, tokenTill) == instance) or ARGV[i + 10] == '1' and exists then may = false end
  if kind ~= '' and till ~= -1 and till <= now then may = false end
  if may then
    local items = {}
    for j = 1, parts do items[j] = ARGV[i + 12 + j] end
    put(key, kind ~= '' and kind or nil, items, till)
    if kind == '' then newToken, till = 0, 0 end
    number, request = newNumber, newRequest
    remember(key, number, request, math.max(mark, newMark, newToken), newToken, till)
  end
  out[#out + 1] = list({int(may and 1 or 0), int(number), bulk(request)})
  i = i + 13 + parts
end
return 'A' .. stamp .. list(out)
