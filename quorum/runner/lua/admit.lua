-- Sets the canary of the database. ARGV: the canary that is expected now ('': none), the new one.
if refusal then return refusal end
local canary = call('GET', '__redfence__') or ''
local done = canary == ARGV[1]
if done then
  canary = ARGV[2]
  call('SET', '__redfence__', canary)
end
return 'A' .. stamp .. list({int(done and 1 or 0), bulk(canary)})
