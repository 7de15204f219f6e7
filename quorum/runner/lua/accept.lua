-- Gives the present instance of a key a token. ARGV: name, version (number, request), token.
if refusal then return refusal end
local key, token = ARGV[1], tonumber(ARGV[4])
local number, request, mark, held, till = lookup(key)
local now = call('PEXPIRETIME', key)
local may = now ~= -2 and number == tonumber(ARGV[2]) and request == ARGV[3]
if may and held ~= token then
  may = mark < token
  if may then
    mark = token
    remember(key, number, request, mark, token, now)
  end
end
return 'A' .. stamp .. list({int(may and 1 or 0), int(mark)})
