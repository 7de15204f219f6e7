-- Deletes a string that has a value. ARGV: value, id. What happened: 1 deleted, 0 another value, -1 absent, -2 no string.
if known[3] ~= ARGV[1] then
  local what = ' 0 '
  if not known[3] then what = redis.call('EXISTS', KEYS[1]) == 1 and ' -2 ' or ' -1 ' end
  return 'a' .. time[1] .. ' ' .. time[2] .. what .. number .. ' 0 0 0 0 ' .. #request .. ' ' .. request
end
redis.call('DEL', KEYS[1])
redis.call('SET', '__redfence__:' .. KEYS[1], string.format('%.0f ', number + 1) .. mark .. ' 0 0 ' .. ARGV[2] .. link, 'PX', 86400000)
if till ~= '-1' and till + 1 < now then token = '0' end
return 'a' .. time[1] .. ' ' .. time[2] .. ' 1 ' .. number .. ' 0 ' .. token .. ' 0 ' .. till .. ' ' .. #request .. ' ' .. request
