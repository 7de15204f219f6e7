-- Commands that draw at random: all nodes draw alike, since they draw from sorted elements with one seed.
local function pick(items, step, count, withAll)
  local n, out = #items / step, {}
  local function give(i)
    out[#out + 1] = items[(i - 1) * step + 1]
    if withAll then out[#out + 1] = items[(i - 1) * step + 2] end
  end
  if n == 0 then return out end
  if count < 0 then
    for _ = 1, -count do give(math.random(n)) end
    return out
  end
  local places = {}
  for i = 1, n do places[i] = i end
  for i = 1, math.min(count, n) do
    local j = math.random(i, n)
    places[i], places[j] = places[j], places[i]
    give(places[i])
  end
  return out
end

draw = function(command, args)
  math.randomseed(wall % 2147483647)
  if command == 'randomkey' then return pick(visible(native('KEYS', '*')), 1, 1)[1] or false end
  local reader = ({srandmember = 'SMEMBERS', spop = 'SMEMBERS', hrandfield = 'HGETALL', zrandmember = 'ZRANGE'})[command]
  local items
  if reader == 'ZRANGE' then items = native(reader, args[2], 0, -1, 'WITHSCORES') else items = native(reader, args[2]) end
  if failed(items) then return items end
  local step = reader == 'SMEMBERS' and 1 or 2
  items = sorted(items, step)
  local drawn = pick(items, step, tonumber(args[3]) or 1, args[4] ~= nil)
  if command == 'spop' and #drawn > 0 then
    open(args[2])
    writeItems('SREM', args[2], drawn)
  end
  if args[3] then return drawn end
  return drawn[1] or false
end
