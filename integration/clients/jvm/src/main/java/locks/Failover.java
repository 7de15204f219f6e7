package locks;

import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisURI;
import io.lettuce.core.ScriptOutputType;
import io.lettuce.core.SetArgs;
import io.lettuce.core.api.sync.RedisCommands;
import java.time.Duration;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.HostAndPort;
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
        Set<HostAndPort> addresses = new HashSet<>();
        sentinels.forEach(s -> addresses.add(HostAndPort.from(s)));
        DefaultJedisClientConfig config = DefaultJedisClientConfig.builder()
            .connectionTimeoutMillis(TIMEOUT_MS).socketTimeoutMillis(TIMEOUT_MS).build();
        JedisSentineled jedis = new JedisSentineled("mymaster", config, addresses, config);
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
                return (Long) jedis.eval(Story.RELEASE, List.of(key), List.of(value));
            }
        };
    }

    private static Story.Client lettuce(List<String> sentinels) {
        RedisURI.Builder uri = RedisURI.builder().withSentinelMasterId("mymaster").withTimeout(Duration.ofMillis(TIMEOUT_MS));
        sentinels.forEach(s -> uri.withSentinel(HostAndPort.from(s).getHost(), HostAndPort.from(s).getPort()));
        RedisCommands<String, String> redis = RedisClient.create(uri.build()).connect().sync();
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
                return redis.<Long>eval(Story.RELEASE, ScriptOutputType.INTEGER, new String[] {key}, value);
            }
        };
    }
}
