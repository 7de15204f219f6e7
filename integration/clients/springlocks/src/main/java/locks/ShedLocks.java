package locks;

import java.time.Duration;
import java.time.Instant;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicInteger;
import net.javacrumbs.shedlock.core.DefaultLockingTaskExecutor;
import net.javacrumbs.shedlock.core.LockConfiguration;
import net.javacrumbs.shedlock.core.LockProvider;
import net.javacrumbs.shedlock.core.LockingTaskExecutor;
import net.javacrumbs.shedlock.core.SimpleLock;
import net.javacrumbs.shedlock.provider.redis.spring.RedisLockProvider;
import org.springframework.data.redis.connection.RedisConnectionFactory;

/** ShedLock, whose users never wait: who comes too late leaves the task to others. */
final class ShedLocks implements LockLibrary {
    private final Runner runner;
    private final Inspector inspector;

    ShedLocks(Runner runner, Inspector inspector) {
        this.runner = runner;
        this.inspector = inspector;
    }

    void register() {
        new LockCases(this, inspector).register(runner);
        runner.add("keeps-at-least", this::keepsAtLeast);
        runner.add("one-of-many", this::oneOfMany);
        runner.add("unsafe-update", this::unsafeUpdate);
    }

    @Override
    public String stored(String key) {
        return "job-lock:default:" + key;
    }

    @Override
    public boolean tellsLoss() {
        return false;
    }

    /** A provider that looks who the owner is before it deletes or extends. */
    private static LockProvider safe(RedisConnectionFactory connections) {
        return new RedisLockProvider.Builder(connections).safeUpdate(true).build();
    }

    private static LockConfiguration lease(String key, Duration atMost, Duration atLeast) {
        return new LockConfiguration(Instant.now(), key, atMost, atLeast);
    }

    @Override
    public User connect() {
        RedisConnectionFactory connections = Connections.open(runner);
        LockProvider provider = safe(connections);
        return new User() {
            @Override
            public Held tryAcquire(String key, long ttlMs) {
                Duration ttl = Duration.ofMillis(ttlMs);
                return provider.lock(lease(key, ttl, Duration.ZERO)).map(lock -> new Taken(lock, ttl)).orElse(null);
            }

            @Override
            public void close() {
                Connections.close(connections);
            }
        };
    }

    /** An extension is a new lock, and the former one is of no use any more. */
    private static final class Taken implements Held {
        private SimpleLock lock;
        private final Duration ttl;

        Taken(SimpleLock lock, Duration ttl) {
            this.lock = lock;
            this.ttl = ttl;
        }

        @Override
        public boolean extend() {
            Optional<SimpleLock> extended = lock.extend(ttl, Duration.ZERO);
            extended.ifPresent(next -> lock = next);
            return extended.isPresent();
        }

        @Override
        public boolean release() {
            lock.unlock();
            return true;
        }
    }

    /** A lock is held for as long as the task is to be left alone, though the task is done. */
    private String keepsAtLeast(String key) throws Exception {
        RedisConnectionFactory connections = Connections.open(runner);
        try (User bob = connect()) {
            Duration atLeast = Duration.ofSeconds(2);
            safe(connections).lock(lease(key, Duration.ofSeconds(30), atLeast)).orElseThrow().unlock();
            long left = inspector.pttl(stored(key));
            Check.that(left > 0 && left <= atLeast.toMillis(), "TTL after the release is " + left + " ms");
            Check.that(bob.tryAcquire(key, 30_000) == null, "free before its time");
            Check.that(bob.acquire(key, 30_000).release(), "release by the next owner");
            return "ttl_ms=" + left;
        } finally {
            Connections.close(connections);
        }
    }

    /** Of several hosts that come to the same task at once, one does it. */
    private String oneOfMany(String key) throws Exception {
        final int hosts = 4;
        final int rounds = 5;
        AtomicInteger done = new AtomicInteger();
        for (int round = 0; round < rounds; round++) {
            String task = key + ":" + round;
            var all = java.util.stream.IntStream.range(0, hosts).mapToObj(host -> Check.inThread(() -> {
                RedisConnectionFactory connections = Connections.open(runner);
                LockingTaskExecutor executor = new DefaultLockingTaskExecutor(safe(connections));
                executor.executeWithLock((Runnable) done::incrementAndGet,
                    lease(task, Duration.ofSeconds(60), Duration.ofSeconds(30)));
                Connections.close(connections);
                return null;
            })).toList();
            for (var host : all) {
                Check.await(host);
            }
        }
        Check.equal(rounds, done.get(), "executions");
        return "executions=" + done.get();
    }

    /** As it comes, ShedLock extends with SET XX PX and releases with DEL, without a look at the owner. */
    private String unsafeUpdate(String key) {
        RedisConnectionFactory connections = Connections.open(runner);
        LockProvider provider = new RedisLockProvider(connections);
        SimpleLock lock = provider.lock(lease(key, Duration.ofSeconds(5), Duration.ZERO)).orElseThrow();
        Check.that(provider.lock(lease(key, Duration.ofSeconds(5), Duration.ZERO)).isEmpty(), "a held lock was granted");
        SimpleLock extended = lock.extend(Duration.ofSeconds(60), Duration.ZERO).orElseThrow();
        Check.that(inspector.pttl(stored(key)) > 30_000, "TTL after the extension");
        extended.unlock();
        Check.that(!inspector.exists(stored(key)), "the key is there after its release");
        SimpleLock next = provider.lock(lease(key, Duration.ofSeconds(5), Duration.ZERO)).orElseThrow();
        inspector.commands().del(stored(key));
        Check.that(next.extend(Duration.ofSeconds(60), Duration.ZERO).isEmpty(), "a lost lock was extended");
        Connections.close(connections);
        return "";
    }
}
