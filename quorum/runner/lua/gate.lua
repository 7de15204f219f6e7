-- The beginning of every program: is this the node that the proxy believes it to be, and is it still time?
-- The last two arguments are the deadline in ms of the node's clock (0: none) and the canary ('': do not look).
local call = redis.call
local argn = #ARGV
local time = call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local stamp = string.format('%d ', time[1] * 1000000 + time[2])
local refusal
if ARGV[argn] ~= '' then
  local canary = call('GET', '__redfence__')
  if canary ~= ARGV[argn] then refusal = 'V' .. stamp .. (canary or '') end
end
if not refusal and ARGV[argn - 1] ~= '0' and now > tonumber(ARGV[argn - 1]) then refusal = 'L' .. stamp end
