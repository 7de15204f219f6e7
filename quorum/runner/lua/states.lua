-- state is a key with all that makes a copy of it.
local function state(key)
  local number, request, mark, token, tokenTill = lookup(key)
  local till = call('PEXPIRETIME', key)
  if till == -2 then
    return list({bulk(key), int(number), bulk(request), int(mark), ':0\r\n', '$0\r\n\r\n', ':0\r\n', '*0\r\n'})
  end
  local kind, items = content(key)
  for i = 1, #items do items[i] = bulk(items[i]) end
  return list({bulk(key), int(number), bulk(request), int(mark), int(alive(token, tokenTill)), bulk(kind),
    int(till == -1 and -1 or math.max(till - now, 1)), list(items)})
end
