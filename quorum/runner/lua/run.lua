-- What a run is told, at the end of ARGV before what the gate reads: its id, the wall clock in us, and a word of
-- flags with the numbers of TTL hints and watched keys, which stand before it, and for how many ms FENCE.CHECK remembers.
local id, wall = ARGV[argn - 2], tonumber(ARGV[argn - 3])
local flags, nhints, nwatched, memory = string.match(ARGV[argn - 4], '^(%a*) (%d+) (%d+) (%d+)$')
local noTokens, wantSeen = string.find(flags, 'n', 1, true), string.find(flags, 's', 1, true)
local readOnly, isBlock = string.find(flags, 'r', 1, true), string.find(flags, 'b', 1, true)
local argsEnd = argn - 5 - 2 * nhints - 3 * nwatched

local opened, order = {}, {}
local messages, readings, lastTTL = {}, {}, nil
local calls, sick, cannot, proto, checked = 0, nil, false, 2, false

local function hint(key, ttl)
  for i = 1, nhints do
    local at = argsEnd + 2 * i - 1
    if ARGV[at] == key and math.abs(ARGV[at + 1] - ttl) <= 200 then return tonumber(ARGV[at + 1]) end
  end
  return ttl
end

-- open remembers a key as it is before the first write to it, and at each further write whether an earlier one took it
-- away: if it comes back then, that is a new instance. One that came and goes again has changed too, for who watches it.
local function open(key)
  local w = opened[key]
  if w then
    w.asked = nil
    local present = call('EXISTS', key) == 1
    w.gone = w.gone or not present
    w.came = w.came or present and w.till == -2
    return w
  end
  local till
  w = {key = key, hold = 0}
  w.number, w.request, w.mark, w.token, till = lookup(key)
  w.till = call('PEXPIRETIME', key)
  if w.till ~= -2 then
    w.kind, w.items = content(key)
    w.name = name(w.kind, w.items)
    w.hold = alive(w.token, till)
  end
  opened[key] = w
  order[#order + 1] = w
  return w
end

-- after reads a key as it is now into w.new.
local function after(w)
  local new = {till = call('PEXPIRETIME', w.key)}
  if new.till ~= -2 then
    new.kind, new.items = content(w.key)
    new.name = name(new.kind, new.items)
  end
  new.fresh = new.till ~= -2 and (w.till == -2 or w.gone or w.set and new.name ~= w.name)
  w.new = new
  return new
end

local function issue(w)
  if noTokens then cannot = true return 0 end
  w.given = w.given or math.max(w.mark + 1, wall)
  return w.given
end

local function tokenOf(key)
  local w = opened[key]
  if not w then
    local _, _, _, token, till = lookup(key)
    if call('EXISTS', key) == 0 then return 0 end
    return alive(token, till)
  end
  local new = after(w)
  if new.till == -2 then return 0 end
  return new.fresh and issue(w) or w.hold
end

local function putBack()
  for i = 1, #order do
    local w = order[i]
    local new = after(w)
    if new.till ~= w.till or new.name ~= w.name then put(w.key, w.kind, w.items, w.till) end
  end
end

-- left is the TTL of a written key. A server that stood still while it ran the script has set it to end later than so long after
-- now, which makes a difference for what is to last for a millisecond: that is told as it was asked for.
local function left(w)
  if w.new.till == -1 then return -1 end
  return math.min(math.max(w.new.till - now, 0), w.asked or math.huge)
end

-- settle raises the version of a key that the run has changed, and reports that.
local function settle(w)
  local new = after(w)
  local existed, exists = w.till ~= -2, new.till ~= -2
  local same = existed and exists and not w.gone and new.name == w.name
  if not existed and not exists and not w.came or same and new.till == w.till and not w.timed then return nil end
  local shorter = same and new.till ~= -1 and (w.till == -1 or new.till < w.till)
  local ended = existed and not same and w.ended or existed and not exists and w.del or shorter
  local token, ttl = 0, 0
  if exists then
    token = new.fresh and issue(w) or w.hold
    ttl = left(w)
  end
  local marks = (existed and 1 or 0) + (exists and 2 or 0) + (new.fresh and 4 or 0) + (ended and 8 or 0) +
    ((same and not shorter) and 16 or 0) + ((same and new.till == w.till) and 32 or 0) + (shorter and 64 or 0)
  w.grew = (new.kind == 'list' or new.kind == 'zset') and (new.kind ~= w.kind or #new.items > #w.items)
  w.final = token
  w.finalToken = new.fresh and token
  return list({bulk(w.key), int(w.number), bulk(w.request), int(marks), bulk(new.name or ''), int(ttl), int(token),
    int(w.hold), bulk(existed and cmsgpack.pack({w.kind, w.items}) or ''), int(existed and w.till or 0)})
end

local function seenKeys(keys)
  local out, had = {}, {}
  for i = 1, #keys do
    local key = keys[i]
    if not had[key] then
      had[key] = true
      local w = opened[key]
      if w then
        out[#out + 1] = list({bulk(key), int(w.number), bulk(w.request), int(w.till == -2 and 0 or 1)})
      else
        local number, request = lookup(key)
        out[#out + 1] = list({bulk(key), int(number), bulk(request), int(call('EXISTS', key))})
      end
    end
  end
  return out
end

-- finish writes the companions and the answer. value is the reply, encoded it in RESP.
local function finish(value, encoded, named)
  if sick then
    putBack()
    return 'N' .. stamp .. sick
  end
  local writes, ready, first = {}, {}, nil
  for i = 1, #order do
    local write = settle(order[i])
    if write then
      writes[#writes + 1] = write
      first = first or order[i]
      if order[i].grew then ready[#ready + 1] = bulk(order[i].key) end
    end
  end
  if cannot then
    putBack()
    return 'A' .. stamp .. list({line('-', $CANNOTISSUE), ':0\r\n', '*0\r\n', '*0\r\n', '*0\r\n', '*0\r\n', '*0\r\n'})
  end
  for i = 1, #order do
    local w = order[i]
    if w.final then
      local till = w.new.till == -2 and 0 or w.new.till
      remember(w.key, w.number + 1, chained(id, w.request), math.max(w.mark, w.final), w.final, till)
    end
  end
  local is = 0
  if type(value) == 'number' then
    if value == lastTTL then is = 1 end
    if first and first.finalToken == value then is = is + 2 end
  end
  if checked then is = is + 4 end
  return 'A' .. stamp .. list({encoded, int(is), list(writes), list(wantSeen and seenKeys(named) or {}), list(readings),
    list(messages), list(ready)})
end

local function touched()
  local at = argn - 5 - 3 * nwatched
  for i = 1, nwatched do
    local key, present, version = ARGV[at + 1], ARGV[at + 2], ARGV[at + 3]
    local number, request = lookup(key)
    if call('EXISTS', key) ~= tonumber(present) or string.format('%d:', number) .. request ~= version then return true end
    at = at + 3
  end
  return false
end
