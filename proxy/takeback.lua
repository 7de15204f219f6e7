-- Ends one hold of an owner, without shortening a TTL. KEYS are the lock and, of a read lock, the key that stands for the hold
-- that was counted; ARGV the owner's field, what the keys of its holds begin with, and the tokens that KEYS had then.
-- Where a key has another token now the lock was freed meanwhile, and what is there is not to be touched.
local lock, field, holds = KEYS[1], ARGV[1], ARGV[2]
for i = 1, #KEYS do
  if redis.call('fence', KEYS[i]) ~= tonumber(ARGV[2 + i]) then return 0 end
end
if redis.call('hexists', lock, field) == 0 then return 0 end
local left = redis.call('hincrby', lock, field, -1)
if holds ~= '' then
  -- Which of the keys was this one's is not known any more: each may have been moved up by a release, so each gets the
  -- longer TTL of two, and the last one goes, as in Redisson's release.
  for i = 1, left do
    local above = redis.call('pttl', holds .. i + 1)
    if above > redis.call('pttl', holds .. i) then redis.call('set', holds .. i, 1, 'px', above) end
  end
  redis.call('del', holds .. left + 1)
end
if left > 0 then return 1 end
redis.call('hdel', lock, field)
if redis.call('hexists', lock, 'mode') == 1 then
  if redis.call('hlen', lock) == 1 then
    redis.call('del', lock)
  elseif string.sub(field, -6) == ':write' then
    redis.call('hset', lock, 'mode', 'read')
  end
end
return 1
