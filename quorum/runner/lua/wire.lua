-- Answers are one text in RESP, so that nothing of a reply's type is lost on its way through a client library.
local function bulk(s) return '$' .. #s .. '\r\n' .. s .. '\r\n' end
local function int(n)
  if n ~= n or n >= 2^63 or n < -2^63 then return ':-9223372036854775808\r\n' end
  return string.format(':%d\r\n', n < 0 and math.ceil(n) or math.floor(n))
end
local function list(items) return '*' .. #items .. '\r\n' .. table.concat(items) end
local function line(mark, s) return mark .. string.gsub(s, '[\r\n]', ' ') .. '\r\n' end

-- encode turns a value that a script returned, or a reply of the node, into RESP, as Redis does (script_lua.c,
-- luaReplyToRedisReply). proto is what redis.setresp was told.
local encode
local function encodeDict(mark, t, proto, depth, values)
  local out, n = {}, 0
  for k, v in pairs(t) do
    n = n + 1
    out[#out + 1] = encode(k, proto, depth)
    if values then out[#out + 1] = encode(v, proto, depth) end
  end
  return mark .. n .. '\r\n' .. table.concat(out)
end
local function encodeTable(t, proto, depth)
  local err, ok = rawget(t, 'err'), rawget(t, 'ok')
  if type(err) == 'string' then return line('-', err) end
  if type(ok) == 'string' then return line('+', ok) end
  local double, map, set = rawget(t, 'double'), rawget(t, 'map'), rawget(t, 'set')
  if type(double) == 'number' then return string.format(',%.17g\r\n', double) end
  if type(map) == 'table' then return encodeDict('%', map, proto, depth, true) end
  if type(set) == 'table' then return encodeDict('~', set, proto, depth, false) end
  local big, verbatim = rawget(t, 'big_number'), rawget(t, 'verbatim_string')
  if type(big) == 'string' then return line('(', big) end
  if type(verbatim) == 'table' then
    local text, format = rawget(verbatim, 'string'), rawget(verbatim, 'format')
    if type(text) == 'string' and type(format) == 'string' and #format == 3 then
      return '=' .. #text + 4 .. '\r\n' .. format .. ':' .. text .. '\r\n'
    end
  end
  local out = {}
  while true do
    local v = rawget(t, #out + 1)
    if v == nil then return list(out) end
    out[#out + 1] = encode(v, proto, depth)
  end
end
encode = function(v, proto, depth)
  local kind = type(v)
  if kind == 'string' then return bulk(v) end
  if kind == 'number' then return int(v) end
  if kind == 'boolean' then
    if proto == 3 then return v and '#t\r\n' or '#f\r\n' end
    return v and ':1\r\n' or '_\r\n'
  end
  if kind == 'table' then
    if depth > 150 then return '-ERR reached lua stack limit\r\n' end
    return encodeTable(v, proto, depth + 1)
  end
  return '_\r\n'
end
