package locks;

import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisURI;
import io.lettuce.core.ScriptOutputType;
import io.lettuce.core.SetArgs;
import io.lettuce.core.api.sync.RedisCommands;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.JedisSentineled;
import redis.clients.jedis.params.SetParams;

/** Failover jedis|lettuce HOST:PORT,... KEY: two users of one lock that know nothing but Sentinels. */
public final class Failover {
    private static final int TIMEOUT_MS = 2_000;

    private Failover() {
    }

    public static void main(String[] args) throws Exception {
        List<String> sentinels = Arrays.asList(args[1].split(","));
        boolean lettuce = args[0].equals("lettuce");
        Story.run(args[2], lettuce ? lettuce(sentinels) : jedis(sentinels), lettuce ? lettuce(sentinels) : jedis(sentinels));
        System.exit(0);
    }

    private static Story.Client jedis(List<String> sentinels) {
        DefaultJedisClientConfig config = DefaultJedisClientConfig.builder()
            .connectionTimeoutMillis(TIMEOUT_MS).socketTimeoutMillis(TIMEOUT_MS).build();
        JedisSentineled jedis = new JedisSentineled("mymaster", config, JedisLocks.addresses(sentinels), config);
        return new Story.Client() {
            @Override
            public boolean setIfAbsent(String key, String value, long ttlMs) {
                return "OK".equals(jedis.set(key, value, SetParams.setParams().nx().px(ttlMs)));
            }

            @Override
            public String get(String key) {
                return jedis.get(key);
            }

            @Override
            public long release(String key, String value) {
                return (Long) jedis.eval(Scripts.RELEASE, List.of(key), List.of(value));
            }
        };
    }

    private static Story.Client lettuce(List<String> sentinels) {
        RedisURI uri = Inspector.uri(new Inspector.Server("", sentinels));
        uri.setTimeout(Duration.ofMillis(TIMEOUT_MS));
        RedisCommands<String, String> redis = RedisClient.create(uri).connect().sync();
        return new Story.Client() {
            @Override
            public boolean setIfAbsent(String key, String value, long ttlMs) {
                return "OK".equals(redis.set(key, value, SetArgs.Builder.nx().px(ttlMs)));
            }

            @Override
            public String get(String key) {
                return redis.get(key);
            }

            @Override
            public long release(String key, String value) {
                return redis.<Long>eval(Scripts.RELEASE, ScriptOutputType.INTEGER, new String[] {key}, value);
            }
        };
    }
}
