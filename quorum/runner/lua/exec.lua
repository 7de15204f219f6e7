-- Commands as this node may run them. A row of the table is "\n<name>=<class><first>,<last>,<step>,<num>,<effect>":
-- the positions are those of the command table. Classes: r reads, w writes, u answers in no order, c walks with a
-- cursor, x draws at random, q is not served in quorum mode, l is no command of a script; others stand for one command.
-- Effects: d takes keys away or overwrites them, e takes elements away, o overwrites, t sets a TTL.
local rows = $ROWS
local lower, find, sub = string.lower, string.find, string.sub
local draw

local storeOf
local function keysOf(command, args, first, last, step, num)
  local keys = {}
  if first > 0 then
    if last < 0 then last = #args + last else last = math.min(last, #args - 1) end
    for i = first, last, step do keys[#keys + 1] = i + 1 end
  end
  if num > 0 then
    local n = tonumber(args[num + 1]) or 0
    if n <= #args - num - 1 then
      for i = num + 2, num + 1 + n do keys[#keys + 1] = i end
    end
  end
  if command == 'sort' then keys[#keys + 1] = storeOf(args) end
  return keys
end

-- storeOf is the position of the key behind the option STORE of SORT.
storeOf = function(args)
  local i, at = 3, nil
  while i <= #args do
    local word = string.upper(args[i])
    if word == 'LIMIT' then
      i = i + 2
    elseif word == 'GET' or word == 'BY' then
      i = i + 1
    elseif word == 'STORE' and args[i + 1] then
      i = i + 1
      at = i
    end
    i = i + 1
  end
  return at
end

local function rowOf(command)
  local at, to = find(rows, '\n' .. command .. '=', 1, true)
  if not at then return nil end
  local class, first, last, step, num, effect = string.match(rows, '^(%a)(%d+),(%-?%d+),(%d+),(%d+),(%a?)', to + 1)
  return class, tonumber(first), tonumber(last), tonumber(step), tonumber(num), effect
end

local function failure(text) return {err = text} end
local function failed(r) return type(r) == 'table' and r.err ~= nil end
local function notServed(command, why)
  return failure($NOTSERVED .. command .. $NOTBECAUSE .. why)
end
local function asText(v)
  if type(v) == 'number' then return string.format('%.17g', v) end
  return v
end

-- native runs a command on the node. Errors that tell of the node and not of the command end the run.
local function native(...)
  local r
  if proto == 3 then
    redis.setresp(3)
    r = redis.pcall(...)
    redis.setresp(2)
  else
    r = redis.pcall(...)
  end
  if type(r) == 'table' and type(r.err) == 'string' then
    local code = string.match(r.err, '^%-?(%u+) ')
    if code and find($NODEERRORS, ' ' .. code .. ' ', 1, true) then sick = sick or r.err end
  end
  return r
end

local function hidden(key) return find(key, '__redfence__', 1, true) == 1 end

-- sorted puts rows of step elements in order.
local function sorted(r, step)
  if type(r) ~= 'table' or r.err or #r <= step then return r end
  if step == 1 then table.sort(r) return r end
  local at, fields, out = {}, {}, {}
  for i = 1, #r, 2 do
    fields[#fields + 1] = r[i]
    at[r[i]] = r[i + 1]
  end
  table.sort(fields)
  for i = 1, #fields do out[2 * i - 1], out[2 * i] = fields[i], at[fields[i]] end
  return out
end

local function visible(names)
  local out = {}
  for i = 1, #names do
    if not hidden(names[i]) then out[#out + 1] = names[i] end
  end
  table.sort(out)
  return out
end

-- whole answers HSCAN and its relatives with all that there is, since cursors differ between nodes.
local function whole(command, args)
  local at = command == 'scan' and 2 or 3
  if asText(args[at]) ~= '0' then
    local r = native(unpack(args))
    return failed(r) and r or {'0', {}}
  end
  local all, had, cursor, step = {}, {}, '0', (command == 'hscan' or command == 'zscan') and 2 or 1
  repeat
    args[at] = cursor
    local r = native(unpack(args))
    if failed(r) then return r end
    cursor = r[1]
    for i = 1, #r[2], step do
      local item = r[2][i]
      if not had[item] then
        had[item] = true
        all[#all + 1] = item
        if step == 2 then all[#all + 1] = r[2][i + 1] end
      end
    end
  until cursor == '0'
  if command == 'scan' then return {'0', visible(all)} end
  return {'0', sorted(all, step)}
end

local function fence(key, owner)
  local kind = call('TYPE', key).ok
  if kind == 'none' then return false end
  if owner then
    if kind == 'hash' then
      if call('HEXISTS', key, owner) == 0 then return false end
    elseif kind ~= 'string' or call('GET', key) ~= owner then
      return false
    end
  end
  local token = tokenOf(key)
  return token > 0 and token or false
end

local function readTTL(command, key)
  local ttl = native('PTTL', key)
  if failed(ttl) then return ttl end
  if ttl >= 0 then
    ttl = hint(key, ttl)
    readings[#readings + 1] = bulk(key)
    readings[#readings + 1] = int(ttl)
  end
  if command == 'ttl' and ttl >= 0 then ttl = math.floor((ttl + 500) / 1000) end
  lastTTL = ttl
  return ttl
end

-- compares tells whether a condition such as IFEQ holds: true or false, or an error.
local function compares(key, word, match)
  if word == 'IFDEQ' or word == 'IFDNE' then return notServed('a digest', $NODIGEST) end
  local r = native('GET', key)
  if failed(r) then return r end
  if not r then return word == 'IFNE' end
  return (r == match) == (word == 'IFEQ')
end

-- set runs SET, also with the options that Redis 7 lacks: FENCE, IFEQ and IFNE.
local function set(args)
  local plain, fenced, get, nx, ttl, met = {'SET', args[2], args[3]}, false, false, false, false, true
  local i, unmet, asked = 4, false, nil
  while i <= #args do
    local word = string.upper(asText(args[i]))
    if word == 'FENCE' then
      fenced = true
    elseif (word == 'IFEQ' or word == 'IFNE' or word == 'IFDEQ' or word == 'IFDNE') and args[i + 1] then
      met = compares(asText(args[2]), word, asText(args[i + 1]))
      if failed(met) then return met end
      unmet = unmet or not met
      i = i + 1
    else
      if word == 'GET' then get = true end
      if word == 'NX' then nx = true end
      plain[#plain + 1] = args[i]
      if word == 'EX' or word == 'PX' or word == 'EXAT' or word == 'PXAT' then
        ttl = true
        i = i + 1
        plain[#plain + 1] = args[i]
        asked = word == 'PX' and tonumber(asText(args[i])) or nil
      end
    end
    i = i + 1
  end
  if fenced and get then return failure($FENCEGET) end
  if unmet then return get and native('GET', args[2]) or false end
  local key = asText(args[2])
  local w = open(key)
  local r = native(unpack(plain))
  if failed(r) then return r end
  local done
  if get and nx then done = r == false or r == nil else done = r ~= false and r ~= nil or get and not nx end
  if not done then return r end
  w.set, w.timed, w.asked = true, w.timed or ttl, asked
  if fenced then return tokenOf(key) end
  return r
end

-- endsThen tells whether a command would give a key the very end that it has. The node is not asked to: it would tell
-- clients that keep copies, and one that answers by doing the same again would never come to rest.
local function endsThen(command, args)
  local unit = command == 'pexpireat' and 1 or command == 'expireat' and 1000
  local at = unit and #args == 3 and string.match(asText(args[3]), '^%d+$')
  return at and #at < 15 and at * unit > now and call('PEXPIRETIME', args[2]) == at * unit
end

-- write runs a command of class w. main is the key whose lost elements end a hold, nil for the command's first.
local function write(command, args, positions, effect, main, ...)
  local r
  for i = 1, #positions do open(asText(args[positions[i]])) end
  if endsThen(command, args) then r = 1 else r = native(...) end
  if failed(r) then return r end
  for i = 1, #positions do
    local key = asText(args[positions[i]])
    local w = opened[key]
    if effect == 'd' or effect == 'o' then w.set = true end
    if effect == 'd' or effect == 't' then w.del = true end
    if effect == 't' and r == 1 then w.timed = true end
    if effect == 'o' and (command == 'setex' or command == 'psetex') then w.timed = true end
    if command == 'getex' and args[3] and r then w.timed = true end
    if effect == 'e' and i == 1 and key == (main or key) and r ~= 0 then
      if command ~= 'hincrby' and command ~= 'hincrbyfloat' or find(asText(args[4]), '-', 1, true) == 1 then w.ended = true end
    end
  end
  return r
end

local exec
-- exec runs one command line and answers its reply, or a table with the field err. script tells that a script calls;
-- then main is its first key.
exec = function(script, main, ...)
  local args = {...}
  local n = select('#', ...)
  if type(args[1]) ~= 'string' then return redis.pcall(...) end
  for i = 2, n do
    if type(args[i]) ~= 'string' and type(args[i]) ~= 'number' then return redis.pcall(...) end
  end
  if sick then return failure(sick) end
  calls = calls + 1
  if calls > 100000 then return failure($TOOMANYCALLS) end
  local command = lower(args[1])
  local class, first, last, step, num, effect = rowOf(command)
  if not class then return failure($UNKNOWNCOMMAND) end
  local positions = keysOf(command, args, first, last, step, num)
  local writes = class == 'w' or class == 's' or class == 'd' or class == 'k'
  if readOnly and writes then return failure($READONLY) end
  for i = 1, #positions do
    local key = args[positions[i]]
    if type(key) == 'string' and string.byte(key) == 95 then
      if hidden(key) then
        if writes then return failure($HIDDEN) end
        args[positions[i]] = '\0absent'
        return exec(script, main, unpack(args))
      end
      if writes and find(key, '__fence__:', 1, true) == 1 then return failure($RESERVED) end
    end
  end
  if class == 'r' then
    if command == 'pttl' or command == 'ttl' then
      if n ~= 2 then return native(...) end
      return readTTL(command, asText(args[2]))
    end
    if command == 'get' and n == 2 and type(args[2]) == 'string' and find(args[2], '__fence__:', 1, true) == 1 then
      local token = fence(sub(args[2], 11))
      return token and string.format('%d', token)
    end
    return native(...)
  end
  if class == 'w' then
    if command == 'copy' and n > 3 and string.upper(args[4]) == 'DB' then return notServed('COPY ... DB', $ONEDB) end
    return write(command, args, positions, effect, main, ...)
  end
  if class == 's' then
    if n < 3 then return native(...) end
    if n == 3 then return write(command, args, positions, 'o', main, ...) end
    return set(args)
  end
  if class == 'd' then
    if n ~= 2 and n ~= 4 then return failure($ARITY) end
    if n == 4 then
      local word = string.upper(args[3])
      local r = compares(asText(args[2]), word, asText(args[4]))
      if failed(r) then return r end
      if not r or native('EXISTS', args[2]) == 0 then return 0 end
    end
    return write(command, args, positions, effect, main, 'DEL', args[2])
  end
  if class == 'u' then
    if command == 'hvals' then
      local r = native('HGETALL', unpack(args, 2))
      if failed(r) or proto == 3 then return failed(r) and r or native(...) end
      local values = {}
      r = sorted(r, 2)
      for i = 2, #r, 2 do values[#values + 1] = r[i] end
      return values
    end
    if command == 'keys' then
      local r = native(...)
      return failed(r) and r or visible(r)
    end
    if command == 'dbsize' then
      if n ~= 1 then return native(...) end
      return #visible(native('KEYS', '*'))
    end
    local r = native(...)
    if proto == 3 then return r end
    return sorted(r, command == 'hgetall' and 2 or 1)
  end
  if class == 'c' then return whole(command, args) end
  if class == 'm' then
    if n ~= 3 then return native('PUBLISH', unpack(args, 2)) end
    messages[#messages + 1] = bulk(asText(args[2]))
    messages[#messages + 1] = bulk(asText(args[3]))
    messages[#messages + 1] = int(command == 'spublish' and 1 or 0)
    return 0
  end
  if class == 'i' then return {string.format('%d', math.floor(wall / 1000000)), string.format('%d', wall % 1000000)} end
  if class == 'f' then
    if n ~= 2 and n ~= 3 then return failure($ARITY) end
    return fence(asText(args[2]), n == 3 and asText(args[3]))
  end
  if class == 'k' or class == 'j' then
    if n ~= (class == 'k' and 3 or 2) then return failure($ARITY) end
    if class == 'j' then return lastToken(asText(args[2])) end
    return checkToken(asText(args[2]), asText(args[3]))
  end
  if class == 'x' then
    if script then return notServed(command, $DRAWS) end
    return draw(command, args)
  end
  if class == 'q' then return notServed(command, $NOTALIKE) end
  return failure($FORBIDDEN)
end
