-- Sets the TTL of a string that has a value. ARGV: value, ttl in ms, id. What happened: see lua/lean/release.lua.
if known[3] ~= ARGV[1] then
  local what = ' 0 '
  if not known[3] then what = redis.call('EXISTS', KEYS[1]) == 1 and ' -2 ' or ' -1 ' end
  return 'a' .. time[1] .. ' ' .. time[2] .. what .. number .. ' 0 0 0 0 ' .. #request .. ' ' .. request
end
if till ~= '-1' and till + 1 < now then token = '0' end
local before = string.format('%.0f', redis.call('PEXPIRETIME', KEYS[1]))
till = string.format('%.0f', now + ARGV[2])
redis.call('PEXPIREAT', KEYS[1], till)
redis.call('SET', '__redfence__:' .. KEYS[1], string.format('%.0f ', number + 1) .. mark .. ' ' .. token .. ' ' .. till ..
  ' ' .. ARGV[3] .. link, 'PX', ARGV[2] + 86400000)
return 'a' .. time[1] .. ' ' .. time[2] .. ' 1 ' .. number .. ' ' .. token .. ' ' .. token .. ' ' .. till .. ' ' .. before ..
  ' ' .. #request .. ' ' .. request
