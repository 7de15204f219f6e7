-- Many lean forms in one call, each as if it were alone, so that what a call costs is shared. ARGV: for each its letter,
-- deadline, key, and the arguments of the form; then the canary. It answers an array of what the forms answer.
local argn = #ARGV
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
if ARGV[argn] ~= '' then
  local canary = redis.call('GET', '__redfence__')
  if canary ~= ARGV[argn] then
    return string.format('V%.0f ', time[1] * 1000000 + time[2]) .. (canary or '')
  end
end
$FORMS
local forms, argc, reads = {s = set, r = release, e = extend}, {s = 4, r = 2, e = 3}, {r = true, e = true}
local out, i = {}, 1
while i < argn do
  local letter, key = ARGV[i], ARGV[i + 2]
  if now > tonumber(ARGV[i + 1]) then
    out[#out + 1] = string.format('L%.0f ', time[1] * 1000000 + time[2])
  else
    local known, value = redis.call('GET', '__redfence__:' .. key), nil
    local number, mark, token, till, request = '0', '0', '0', '0', ''
    if known then
      number, mark, token, till, request = string.match(known, '^(%d+) (%d+) (%d+) (%-?%d+) (.*)$')
    end
    if reads[letter] then value = redis.call('MGET', key)[1] end
    local link = request == '' and '' or '~' .. string.sub(redis.sha1hex(request), 1, 10)
    local ok, answer = pcall(forms[letter], {key}, {unpack(ARGV, i + 3, i + 2 + argc[letter])}, {[3] = value},
      number, mark, token, till, request, link)
    if not ok and type(answer) == 'string' then answer = {err = 'ERR ' .. answer} end
    out[#out + 1] = answer
  end
  i = i + 3 + argc[letter]
end
return out
