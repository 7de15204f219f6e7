-- DEL of one key. ARGV: id. What happened: 1 deleted, -1 absent.
if redis.call('DEL', KEYS[1]) == 0 then
  return 'a' .. time[1] .. ' ' .. time[2] .. ' -1 ' .. number .. ' 0 0 0 0 ' .. #request .. ' ' .. request
end
redis.call('SET', '__redfence__:' .. KEYS[1], string.format('%.0f ', number + 1) .. mark .. ' 0 0 ' .. ARGV[1] .. link, 'PX', 86400000)
if till ~= '-1' and till + 1 < now then token = '0' end
return 'a' .. time[1] .. ' ' .. time[2] .. ' 1 ' .. number .. ' 0 ' .. token .. ' 0 ' .. till .. ' ' .. #request .. ' ' .. request
