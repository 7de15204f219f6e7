package locks;

import io.lettuce.core.ClientOptions;
import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisFuture;
import io.lettuce.core.ScriptOutputType;
import io.lettuce.core.SetArgs;
import io.lettuce.core.TrackingArgs;
import io.lettuce.core.TransactionResult;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.api.async.RedisAsyncCommands;
import io.lettuce.core.api.sync.RedisCommands;
import io.lettuce.core.protocol.ProtocolVersion;
import io.lettuce.core.pubsub.RedisPubSubAdapter;
import io.lettuce.core.pubsub.StatefulRedisPubSubConnection;
import io.lettuce.core.support.caching.CacheAccessor;
import io.lettuce.core.support.caching.CacheFrontend;
import io.lettuce.core.support.caching.ClientSideCaching;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;

/**
 * Locks by hand with Lettuce: SET NX PX, and scripts by their digest that compare the owner. A release publishes, and who
 * waits is subscribed; the lease of the holder bounds the wait, as a holder that dies publishes nothing.
 */
final class LettuceLocks implements LockLibrary {
    private static final String RELEASE = """
        if redis.call('get', KEYS[1]) ~= ARGV[1] then return 0 end
        redis.call('del', KEYS[1])
        redis.call('publish', KEYS[1] .. ':free', '')
        return 1""";

    private static final long LATE_NEWS_MS = 500;

    private final Runner runner;
    private final Inspector inspector;

    LettuceLocks(Runner runner, Inspector inspector) {
        this.runner = runner;
        this.inspector = inspector;
    }

    void register() {
        new LockCases(this, inspector).register(runner);
        runner.add("pipeline", this::pipeline);
        runner.add("transaction", this::transaction);
        if (runner.option("protocol", "3").equals("3")) {
            runner.add("cache", this::cache);
        }
    }

    private RedisClient client() {
        RedisClient client = RedisClient.create(Inspector.uri(runner.server()));
        boolean resp3 = runner.option("protocol", "3").equals("3");
        client.setOptions(ClientOptions.builder()
            .protocolVersion(resp3 ? ProtocolVersion.RESP3 : ProtocolVersion.RESP2).build());
        return client;
    }

    @Override
    public User connect() {
        return new PatientUser(client());
    }

    private static final class PatientUser implements User {
        private final RedisClient client;
        private final RedisCommands<String, String> redis;

        PatientUser(RedisClient client) {
            this.client = client;
            redis = client.connect().sync();
        }

        @Override
        public Held tryAcquire(String key, long ttlMs) {
            String owner = UUID.randomUUID().toString();
            boolean taken = "OK".equals(redis.set(key, owner, SetArgs.Builder.nx().px(ttlMs)));
            return taken ? new Lock(redis, key, owner, ttlMs) : null;
        }

        @Override
        public Held acquire(String key, long ttlMs) throws InterruptedException {
            Held held = tryAcquire(key, ttlMs);
            if (held != null) {
                return held;
            }
            Semaphore woken = new Semaphore(0);
            try (StatefulRedisPubSubConnection<String, String> messages = client.connectPubSub()) {
                messages.addListener(new RedisPubSubAdapter<>() {
                    @Override
                    public void message(String channel, String text) {
                        woken.release();
                    }
                });
                messages.sync().subscribe(key + ":free");
                while ((held = tryAcquire(key, ttlMs)) == null) {
                    woken.tryAcquire(Math.max(1, redis.pttl(key)), TimeUnit.MILLISECONDS);
                }
                return held;
            }
        }

        @Override
        public void close() {
            client.shutdown();
        }
    }

    private record Lock(RedisCommands<String, String> redis, String key, String owner, long ttlMs) implements Held {
        @Override
        public boolean extend() {
            return evaluate(Scripts.EXTEND, owner, Long.toString(ttlMs));
        }

        @Override
        public boolean release() {
            return evaluate(RELEASE, owner);
        }

        private boolean evaluate(String script, String... args) {
            String[] keys = {key};
            try {
                return redis.<Long>evalsha(redis.digest(script), ScriptOutputType.INTEGER, keys, args) == 1;
            } catch (io.lettuce.core.RedisNoScriptException e) {
                return redis.<Long>eval(script, ScriptOutputType.INTEGER, keys, args) == 1;
            }
        }
    }

    /** Commands that are sent in one write. */
    private String pipeline(String key) throws Exception {
        RedisClient client = client();
        try (StatefulRedisConnection<String, String> connection = client.connect()) {
            RedisAsyncCommands<String, String> redis = connection.async();
            connection.setAutoFlushCommands(false);
            RedisFuture<String> taken = redis.set(key, "a", SetArgs.Builder.nx().px(30_000));
            RedisFuture<String> refused = redis.set(key, "b", SetArgs.Builder.nx().px(30_000));
            RedisFuture<Long> released = redis.eval(RELEASE, ScriptOutputType.INTEGER, new String[] {key}, "a");
            RedisFuture<Long> exists = redis.exists(key);
            connection.flushCommands();
            Check.equal("OK", taken.get(), "first SET");
            Check.that(refused.get() == null, "second SET");
            Check.equal(1L, released.get(), "release");
            Check.equal(0L, exists.get(), "EXISTS");
        }
        client.shutdown();
        return "";
    }

    private String transaction(String key) {
        RedisClient client = client();
        RedisCommands<String, String> mine = client.connect().sync();
        mine.set(key, "mine", SetArgs.Builder.nx().px(30_000));
        mine.watch(key);
        inspector.commands().set(key, "stolen", SetArgs.Builder.px(30_000));
        mine.multi();
        mine.del(key);
        Check.that(mine.exec().wasDiscarded(), "a watched lock was deleted though it had changed");
        mine.watch(key);
        mine.multi();
        mine.del(key);
        TransactionResult done = mine.exec();
        Check.equal(1L, done.get(0), "deleted keys");
        client.shutdown();
        return "";
    }

    /**
     * A cache of who the owner is, kept true by CLIENT TRACKING. Lettuce keeps a value that it has read even when it was told
     * meanwhile that it has changed, and redfence may tell of a change more than once: so what was written is read later.
     */
    private String cache(String key) throws Exception {
        RedisClient client = client();
        StatefulRedisConnection<String, String> connection = client.connect();
        Map<String, String> local = new ConcurrentHashMap<>();
        CacheFrontend<String, String> cached =
            ClientSideCaching.enable(CacheAccessor.forMap(local), connection, TrackingArgs.Builder.enabled());
        inspector.commands().set(key, "a", SetArgs.Builder.px(30_000));
        Thread.sleep(LATE_NEWS_MS);
        Check.equal("a", cached.get(key), "owner");
        Check.equal("a", local.get(key), "owner in the cache");
        inspector.commands().set(key, "b", SetArgs.Builder.px(30_000));
        Check.eventually("the cache forgets an owner", () -> !local.containsKey(key));
        Thread.sleep(LATE_NEWS_MS);
        Check.equal("b", cached.get(key), "owner");
        inspector.commands().pexpire(key, 200);
        Check.eventually("the cache forgets a lock that has expired", () -> cached.get(key) == null);
        client.shutdown();
        return "";
    }
}
