-- Reads keys. ARGV: their names.
if refusal then return refusal end
local out = {}
for i = 1, argn - 2 do out[i] = state(ARGV[i]) end
return 'A' .. stamp .. list(out)
