package locks;

import java.util.List;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.stream.Collectors;
import org.apache.commons.pool2.impl.GenericObjectPoolConfig;
import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.JedisClientConfig;
import redis.clients.jedis.JedisPool;
import redis.clients.jedis.JedisPubSub;
import redis.clients.jedis.JedisSentinelPool;
import redis.clients.jedis.Pipeline;
import redis.clients.jedis.RedisProtocol;
import redis.clients.jedis.Response;
import redis.clients.jedis.Transaction;
import redis.clients.jedis.params.SetParams;
import redis.clients.jedis.util.Pool;

/** Locks by hand with Jedis: SET NX PX, and scripts that compare the owner. Who waits tries again and again. */
final class JedisLocks implements LockLibrary {
    private final Runner runner;
    private final Inspector inspector;
    private final Inspector.Server server;
    private final RedisProtocol protocol;

    JedisLocks(Runner runner, Inspector inspector) {
        this.runner = runner;
        this.inspector = inspector;
        server = runner.server();
        protocol = runner.option("protocol", "3").equals("3") ? RedisProtocol.RESP3 : RedisProtocol.RESP2;
    }

    void register() {
        new LockCases(this, inspector).register(runner);
        runner.add("pub-sub", this::pubSub);
        runner.add("blocking", this::blocking);
        runner.add("pipeline", this::pipeline);
        runner.add("transaction", this::transaction);
    }

    private Pool<Jedis> pool() {
        JedisClientConfig config = DefaultJedisClientConfig.builder().protocol(protocol).timeoutMillis(30_000).build();
        GenericObjectPoolConfig<Jedis> size = new GenericObjectPoolConfig<>();
        size.setTestOnBorrow(true); // PING
        if (server.sentinels().isEmpty()) {
            return new JedisPool(size, new HostAndPort(server.host(), server.port()), config);
        }
        return new JedisSentinelPool("mymaster", addresses(server.sentinels()), size, config, config);
    }

    static Set<HostAndPort> addresses(List<String> sentinels) {
        return sentinels.stream().map(HostAndPort::from).collect(Collectors.toSet());
    }

    @Override
    public User connect() {
        Pool<Jedis> pool = pool();
        return new User() {
            @Override
            public Held tryAcquire(String key, long ttlMs) {
                String owner = UUID.randomUUID().toString();
                try (Jedis jedis = pool.getResource()) {
                    String answer = jedis.set(key, owner, SetParams.setParams().nx().px(ttlMs));
                    return "OK".equals(answer) ? new Lock(pool, key, owner, ttlMs) : null;
                }
            }

            @Override
            public void close() {
                pool.close();
            }
        };
    }

    private record Lock(Pool<Jedis> pool, String key, String owner, long ttlMs) implements Held {
        @Override
        public boolean extend() {
            return evaluate(Scripts.EXTEND, owner, Long.toString(ttlMs));
        }

        @Override
        public boolean release() {
            return evaluate(Scripts.RELEASE, owner);
        }

        private boolean evaluate(String script, String... args) {
            try (Jedis jedis = pool.getResource()) {
                return Long.valueOf(1).equals(jedis.eval(script, List.of(key), List.of(args)));
            }
        }
    }

    /** Whoever waits for a message gets it, on the connection that it is subscribed on. */
    private String pubSub(String key) throws Exception {
        try (Pool<Jedis> pool = pool(); Jedis listening = pool.getResource(); Jedis speaking = pool.getResource()) {
            CountDownLatch subscribed = new CountDownLatch(1);
            CompletableFuture<String> message = new CompletableFuture<>();
            JedisPubSub listener = new JedisPubSub() {
                @Override
                public void onSubscribe(String channel, int channels) {
                    subscribed.countDown();
                }

                @Override
                public void onMessage(String channel, String text) {
                    message.complete(text);
                    unsubscribe();
                }
            };
            CompletableFuture<Boolean> listens = Check.inThread(() -> {
                listening.subscribe(listener, key);
                return "PONG".equals(listening.ping());
            });
            subscribed.await();
            Check.equal(1L, speaking.publish(key, "free"), "receivers");
            Check.equal("free", Check.await(message), "message");
            Check.that(Check.await(listens), "the connection serves commands after its subscription");
        }
        return "";
    }

    /** A release that leaves a token in a list wakes who blocks on it. */
    private String blocking(String key) throws Exception {
        try (Pool<Jedis> pool = pool(); Jedis waiting = pool.getResource(); Jedis releasing = pool.getResource()) {
            CompletableFuture<String> waiter = Check.inThread(() -> waiting.blpop(20.0, key).getValue());
            Thread.sleep(100); // so that it blocks, mostly
            releasing.lpush(key, "free");
            Check.equal("free", Check.await(waiter), "token");
            Check.that(!releasing.exists(key), "the token is still there");
            Check.that(waiting.blpop(0.1, key) == null, "a token that is not there");
        }
        return "";
    }

    private String pipeline(String key) {
        try (Pool<Jedis> pool = pool(); Jedis jedis = pool.getResource()) {
            Pipeline pipeline = jedis.pipelined();
            Response<String> taken = pipeline.set(key, "a", SetParams.setParams().nx().px(30_000));
            Response<String> refused = pipeline.set(key, "b", SetParams.setParams().nx().px(30_000));
            Response<Object> released = pipeline.eval(Scripts.RELEASE, List.of(key), List.of("a"));
            Response<Boolean> exists = pipeline.exists(key);
            pipeline.sync();
            Check.equal("OK", taken.get(), "first SET");
            Check.that(refused.get() == null, "second SET");
            Check.equal(1L, released.get(), "release");
            Check.equal(false, exists.get(), "EXISTS");
        }
        return "";
    }

    private String transaction(String key) {
        try (Pool<Jedis> pool = pool(); Jedis mine = pool.getResource(); Jedis other = pool.getResource()) {
            mine.set(key, "mine", SetParams.setParams().nx().px(30_000));
            mine.watch(key);
            other.set(key, "stolen", SetParams.setParams().px(30_000));
            try (Transaction lost = mine.multi()) {
                lost.del(key);
                Check.that(lost.exec() == null, "a watched lock was deleted though it had changed");
            }
            Check.equal("stolen", other.get(key), "owner");
            mine.watch(key);
            try (Transaction kept = mine.multi()) {
                kept.del(key);
                Check.equal(List.of(1L), kept.exec(), "deleted keys");
            }
        }
        return "";
    }
}
