-- PTTL. What happened: the TTL.
return 'a' .. time[1] .. ' ' .. time[2] .. ' ' .. string.format('%.0f ', redis.call('PTTL', KEYS[1])) .. number .. ' 0 0 0 0 ' ..
  #request .. ' ' .. request
