-- PTTL. What happened: the TTL.
return answer(string.format('%d', redis.call('PTTL', KEYS[1])))
