-- DEL of one key. ARGV: id. What happened: 1 deleted, -1 absent.
if redis.call('DEL', KEYS[1]) == 0 then return answer('-1') end
local number, mark, request = string.match(companion, '^(%d+) (%d+) %d+ %-?%d+ (.*)$')
if not number then number, mark, request = '0', '0', '' end
local link = request == '' and '' or '~' .. string.sub(redis.sha1hex(request), 1, 10)
redis.call('SET', '__redfence__:' .. KEYS[1], string.format('%d ', number + 1) .. mark .. ' 0 0 ' .. ARGV[1] .. link, 'PX', '86400000')
return answer('1')
