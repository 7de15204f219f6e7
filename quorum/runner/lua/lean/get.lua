-- GET. What happened: 1 read, -1 absent, -2 no string.
local what = ' 1 '
if not known[3] then what = redis.call('EXISTS', KEYS[1]) == 1 and ' -2 ' or ' -1 ' end
return 'a' .. time[1] .. ' ' .. time[2] .. what .. number .. ' 0 0 0 0 ' .. #request .. ' ' .. request .. (known[3] or '')
