-- A client's script as a program of its own: its text follows as a function.
return function(user)
  if refusal then return refusal end
  if find(flags, 'w', 1, true) then return finish(nil, line('-', $MAYWRITE), KEYS) end
  local argv, names = {}, {}
  -- The script may change its table of keys.
  if wantSeen then
    for i = 1, #KEYS do names[i] = KEYS[i] end
  end
  for i = 1, argsEnd do argv[i] = ARGV[i] end
  local value, encoded = evaluate(user, KEYS, argv, $SHA)
  return finish(value, encoded, names)
end
