-- GET. What happened: 1 read, -1 absent, -2 no string.
if known[3] then return answer('1', known[3]) end
return answer(redis.call('EXISTS', KEYS[1]) == 1 and '-2' or '-1')
