-- SET key value NX PX ttl. ARGV: value, ttl in ms, id, wall.
if redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PXAT', now + ARGV[2]) then
  token = string.format('%.0f', math.max(mark + 1, ARGV[4]))
  till = string.format('%.0f', now + ARGV[2])
  redis.call('SET', '__redfence__:' .. KEYS[1], string.format('%.0f ', number + 1) .. token .. ' ' .. token .. ' ' .. till ..
    ' ' .. ARGV[3] .. link, 'PX', ARGV[2] + 86400000)
  return 'a' .. time[1] .. ' ' .. time[2] .. ' 1 ' .. number .. ' ' .. token .. ' 0 ' .. till .. ' 0 ' .. #request .. ' ' .. request
end
return 'a' .. time[1] .. ' ' .. time[2] .. ' 0 ' .. number .. ' 0 0 0 0 ' .. #request .. ' ' .. request
