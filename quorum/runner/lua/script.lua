-- The world that a client's script sees: its own redis table, in front of the node's, and everything that would lead
-- around it.
local shadows = ' redis server KEYS ARGV _G load loadstring getmetatable '
local raised, sources, running = nil, {}, nil

local function shadow(values, behind)
  return setmetatable(values, {__index = behind, __metatable = false,
    __newindex = function() error('Attempt to modify a readonly table', 2) end})
end

-- where finds the line that raised an error: the innermost function of a script. A call in tail position leaves no
-- trace, which is told as line 0.
local function where(called)
  local ok, at
  for level = called and 6 or 4, called and 6 or 5 do
    ok, at = pcall(error, '', level)
    if at ~= '' then break end
  end
  local source, line = string.match(at or '', '^(.*):(%d+): $')
  if source then return sources[source] or '@' .. source, line end
  return '@user_script', '0'
end

local function handler(e)
  local source, line = where(e == raised)
  if type(e) ~= 'table' then
    e = 'ERR ' .. string.gsub(tostring(e), "(%a+) '([%w_]+)'", function(kind, word)
      if (kind == 'upvalue' or kind == 'local') and find(shadows, ' ' .. word .. ' ', 1, true) then
        return "global '" .. word .. "'"
      end
    end)
  else
    e = e.err
    if type(e) ~= 'string' then e = 'ERR script raised a table without the field err' end
  end
  return {err = e .. ' script: ' .. running .. ', on ' .. source .. ':' .. line .. '.'}
end

-- evaluate runs a client's script, a function of its world, and answers its value and the value in RESP.
local function evaluate(user, keys, argv, name)
  math.randomseed(wall % 2147483647)
  local main = keys[1]
  running, proto = name, 2
  local api, env = {}, {}
  local fake, world = shadow({}, api), nil
  setmetatable(api, {__index = redis})
  api.pcall = function(...)
    return exec(true, main, ...)
  end
  api.call = function(...)
    local r = exec(true, main, ...)
    if failed(r) then
      raised = r
      error(r, 0)
    end
    return r
  end
  api.setresp = function(...)
    local ok, e = pcall(redis.setresp, ...)
    if not ok then
      raised = failure(e)
      error(raised, 0)
    end
    proto = tonumber((...))
    redis.setresp(2)
  end
  local function metatable(t)
    if t == fake then return nil end
    if t == world then return getmetatable(_G) end
    return getmetatable(t)
  end
  local function inside(text, chunk)
    if type(text) ~= 'string' then return loadstring(text, chunk) end
    local f, e = loadstring(text, chunk or text)
    if not f then return nil, e end
    f = loadstring('return function(redis,KEYS,ARGV,_G,load,loadstring,getmetatable,...) ' .. text .. '\nend', chunk or text)
    return function(...) return f()(fake, keys, argv, world, env.load, env.loadstring, metatable, ...) end
  end
  env.redis, env.KEYS, env.ARGV, env.getmetatable, env.loadstring = fake, keys, argv, metatable, inside
  env.load = function(reader, chunk)
    local parts = {}
    while true do
      local part = reader()
      if part == nil or part == '' then break end
      parts[#parts + 1] = part
    end
    return inside(table.concat(parts), chunk or '=(load)')
  end
  world = shadow(env, _G)
  rawset(env, '_G', world)
  local ok, value = xpcall(function()
    return user(fake, keys, argv, world, env.load, inside, metatable)
  end, handler)
  if ok then return value, encode(value, proto, 0) end
  if type(value) == 'table' then return nil, line('-', value.err) end
  return nil, line('-', 'ERR ' .. tostring(value))
end
