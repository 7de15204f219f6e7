-- Makes the node remember what others have seen of resources. ARGV, for each: name, token, ms for which it is remembered.
if refusal then return refusal end
local raised = 0
for i = 1, argn - 2, 3 do
  local key, token, ttl = '__redfence__fence:' .. ARGV[i], tonumber(ARGV[i + 1]), tonumber(ARGV[i + 2])
  local last = tonumber(call('GET', key) or 0)
  local left = call('PTTL', key)
  if last < token or last == token and left < ttl then
    call('SET', key, string.format('%.0f', token), 'PX', math.max(left, ttl))
    raised = raised + 1
  end
end
return 'A' .. stamp .. list({int(raised), int(0)})
