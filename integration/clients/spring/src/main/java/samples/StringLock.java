package samples;

import java.time.Duration;
import java.util.List;
import org.springframework.data.redis.core.StringRedisTemplate;
import org.springframework.data.redis.core.script.DefaultRedisScript;
import org.springframework.data.redis.core.script.RedisScript;

/** Locks with nothing but Spring Data Redis. */
final class StringLock {
    private static final RedisScript<Long> RELEASE = new DefaultRedisScript<>(
            "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0", Long.class);

    /** Enters when the lock is free or ours, and counts how often in a key beside it. */
    private static final RedisScript<Long> ENTER = new DefaultRedisScript<>("""
            local owner = redis.call('get', KEYS[1])
            if owner and owner ~= ARGV[1] then return 0 end
            redis.call('set', KEYS[1], ARGV[1], 'px', ARGV[2])
            local count = redis.call('incr', KEYS[2])
            redis.call('pexpire', KEYS[2], ARGV[2])
            return count""", Long.class);

    private static final RedisScript<Long> LEAVE = new DefaultRedisScript<>("""
            if redis.call('get', KEYS[1]) ~= ARGV[1] then return -1 end
            local left = redis.call('decr', KEYS[2])
            if left <= 0 then redis.call('del', KEYS[1], KEYS[2]) end
            return left""", Long.class);

    private final StringRedisTemplate redis;

    StringLock(StringRedisTemplate redis) {
        this.redis = redis;
    }

    boolean tryLock(String key, String token) {
        return Boolean.TRUE.equals(redis.opsForValue().setIfAbsent(key, token, Duration.ofSeconds(30)));
    }

    boolean unlock(String key, String token) {
        return redis.execute(RELEASE, List.of(key), token) == 1;
    }

    /** How often the owner is inside now; 0 when somebody else is. */
    long enter(String key, String token) {
        return redis.execute(ENTER, List.of(key, key + ":count"), token, "30000");
    }

    /** How often the owner is still inside; -1 when it was not. */
    long leave(String key, String token) {
        return redis.execute(LEAVE, List.of(key, key + ":count"), token);
    }
}
