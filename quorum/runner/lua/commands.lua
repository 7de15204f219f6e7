-- The command lines of clients, in the order given: for each the number of its words, then the words. In front of a
-- script stand its text and its SHA1: "s<number of words>", text, SHA1, words; r for s when it must not write.
-- g is not to be executed: one word follows, the reply.
if refusal then return refusal end

-- exactly reads an integer again that is too large for Lua's numbers.
local function exactly(command, r, at)
  if type(r) ~= 'number' or math.abs(r) < 2^53 then return nil end
  if command == 'hincrby' then return call('HGET', ARGV[at + 2], ARGV[at + 3]) end
  if find(' incr decr incrby decrby ', ' ' .. command .. ' ', 1, true) then return call('GET', ARGV[at + 2]) end
end

local function watch(at, n)
  local out = {int(0)}
  for i = at + 2, at + n do
    local number, request = lookup(ARGV[i])
    out[#out + 1] = list({call('EXISTS', ARGV[i]) == 1 and '#t\r\n' or '#f\r\n', bulk(string.format('%d:', number) .. request)})
  end
  return list(out)
end

local function evalLine(at, n, kind)
  local text, name, keys, argv = ARGV[at + 1], ARGV[at + 2], {}, {}
  local nkeys = tonumber(ARGV[at + 5])
  for i = 1, nkeys do keys[i] = ARGV[at + 5 + i] end
  for i = 1, n - 3 - nkeys do argv[i] = ARGV[at + 5 + nkeys + i] end
  local was = readOnly
  readOnly = kind == 'r'
  local f = loadstring('return function(redis,KEYS,ARGV,_G,load,loadstring,getmetatable,...) ' .. text .. '\nend', '@user_script')
  local value, encoded = evaluate(f(), keys, argv, name)
  readOnly, proto = was, 2
  return value, encoded
end

local function named(into, at, n)
  local args = {}
  for i = 1, n do args[i] = ARGV[at + i] end
  local command = lower(args[1])
  local _, first, last, step, num = rowOf(command)
  if first then
    local positions = keysOf(command, args, first, last, step, num)
    for i = 1, #positions do into[#into + 1] = args[positions[i]] end
  end
end

if touched() then return finish(nil, '*-1\r\n', {}) end
local at, replies, names, value = 1, {}, {}, nil
while at <= argsEnd do
  local kind, n = string.match(ARGV[at], '^([srg]?)(%d+)$')
  n = tonumber(n)
  local encoded
  if kind == 'g' then
    value, encoded = nil, ARGV[at + 1]
    at = at + 2
  elseif kind ~= '' then
    for i = 1, tonumber(ARGV[at + 5]) do names[#names + 1] = ARGV[at + 5 + i] end
    value, encoded = evalLine(at, n, kind)
    at = at + n + 3
  else
    local command = lower(ARGV[at + 1])
    if wantSeen then named(names, at, n) end
    if command == 'watch' then
      value, encoded = nil, watch(at, n)
    else
      value = n > 7900 and failure($TOOLONG) or exec(false, nil, unpack(ARGV, at + 1, at + n))
      local exact = exactly(command, value, at)
      encoded = exact and ':' .. exact .. '\r\n' or encode(value, 2, 0)
    end
    at = at + n + 1
  end
  replies[#replies + 1] = encoded
end
if isBlock then return finish(nil, list(replies), names) end
return finish(value, replies[1], names)
