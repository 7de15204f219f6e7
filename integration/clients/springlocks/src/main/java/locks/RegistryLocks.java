package locks;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Lock;
import org.springframework.data.redis.connection.RedisConnectionFactory;
import org.springframework.integration.redis.util.RedisLockRegistry;
import org.springframework.integration.redis.util.RedisLockRegistry.RedisLockType;
import org.springframework.scheduling.concurrent.ThreadPoolTaskScheduler;

/**
 * Spring Integration's RedisLockRegistry, whose waiters try again and again ({@code --wait spin}) or are told by a message
 * ({@code --wait pubsub}). A registry has one lease for all its locks, so a user has a registry for each lease.
 */
final class RegistryLocks implements LockLibrary {
    private static final String NAME = "registry";

    private final Runner runner;
    private final Inspector inspector;
    private final RedisLockType wait;

    RegistryLocks(Runner runner, Inspector inspector) {
        this.runner = runner;
        this.inspector = inspector;
        wait = runner.option("wait", "spin").equals("pubsub") ? RedisLockType.PUB_SUB_LOCK : RedisLockType.SPIN_LOCK;
    }

    void register() {
        new LockCases(this, inspector).register(runner);
        runner.add("reentrant", this::reentrant);
        runner.add("waits-in-vain", this::waitsInVain);
        runner.add("auto-renewal", this::autoRenewal);
        if (wait == RedisLockType.PUB_SUB_LOCK) {
            runner.add("woken", this::woken);
        }
    }

    @Override
    public String stored(String key) {
        return NAME + ":" + key;
    }

    private RedisLockRegistry registry(RedisConnectionFactory connections, long ttlMs) {
        RedisLockRegistry registry = new RedisLockRegistry(connections, NAME, ttlMs);
        registry.setRedisLockType(wait);
        return registry;
    }

    @Override
    public User connect() {
        RedisConnectionFactory connections = Connections.open(runner);
        Map<Long, RedisLockRegistry> registries = new ConcurrentHashMap<>();
        return new User() {
            private RedisLockRegistry of(long ttlMs) {
                return registries.computeIfAbsent(ttlMs, ms -> registry(connections, ms));
            }

            @Override
            public Held tryAcquire(String key, long ttlMs) {
                Lock lock = of(ttlMs).obtain(key);
                return lock.tryLock() ? new Taken(of(ttlMs), key, lock) : null;
            }

            @Override
            public Held acquire(String key, long ttlMs) {
                Lock lock = of(ttlMs).obtain(key);
                lock.lock();
                return new Taken(of(ttlMs), key, lock);
            }

            @Override
            public void close() {
                registries.values().forEach(RedisLockRegistry::destroy);
                Connections.close(connections);
            }
        };
    }

    private record Taken(RedisLockRegistry registry, String key, Lock lock) implements Held {
        @Override
        public boolean extend() {
            try {
                registry.renewLock(key);
                return true;
            } catch (IllegalStateException lost) {
                return false;
            }
        }

        /** The library throws ConcurrentModificationException, and formerly IllegalStateException. */
        @Override
        public boolean release() {
            try {
                lock.unlock();
                return true;
            } catch (IllegalStateException | java.util.ConcurrentModificationException lost) {
                return false;
            }
        }
    }

    /** Within a registry a thread may take its lock again; the server learns of the last release only. */
    private String reentrant(String key) throws Exception {
        try (User alice = connect(); User bob = connect()) {
            Held outer = alice.acquire(key, 30_000);
            Held inner = alice.tryAcquire(key, 30_000);
            Check.that(inner != null, "the owner cannot enter again");
            Check.that(inner.release(), "release of the inner lock");
            Check.that(bob.tryAcquire(key, 30_000) == null, "free though its owner is inside");
            Check.that(outer.release(), "release of the outer lock");
            Check.that(!inspector.exists(stored(key)), "the key is there after the last release");
        }
        return "";
    }

    private String waitsInVain(String key) throws Exception {
        RedisConnectionFactory connections = Connections.open(runner);
        RedisLockRegistry other = registry(connections, 30_000);
        try (User alice = connect()) {
            Held held = alice.acquire(key, 30_000);
            long start = System.nanoTime();
            Check.that(!other.obtain(key).tryLock(500, TimeUnit.MILLISECONDS), "another owner got a held lock");
            long waited = (System.nanoTime() - start) / 1_000_000;
            Check.that(waited >= 450, "waited only " + waited + " ms of 500");
            Check.that(held.release(), "release by the owner");
            Check.that(other.obtain(key).tryLock(), "not free after its release");
            other.obtain(key).unlock();
            return "waited_ms=" + waited;
        } finally {
            other.destroy();
            Connections.close(connections);
        }
    }

    /** A registry with a scheduler renews what it holds, so that it outlives its lease. */
    private String autoRenewal(String key) throws Exception {
        final long lease = 2_000;
        ThreadPoolTaskScheduler scheduler = new ThreadPoolTaskScheduler();
        scheduler.initialize();
        RedisConnectionFactory connections = Connections.open(runner);
        RedisLockRegistry registry = registry(connections, lease);
        registry.setRenewalTaskScheduler(scheduler);
        try (User bob = connect()) {
            Lock lock = registry.obtain(key);
            lock.lock();
            for (long end = System.nanoTime() + 2 * lease * 1_000_000; System.nanoTime() < end; Thread.sleep(50)) {
                Check.that(bob.tryAcquire(key, 30_000) == null, "another owner got a lock that is renewed");
            }
            lock.unlock();
            Check.that(bob.acquire(key, 30_000).release(), "release by the next owner");
        } finally {
            registry.destroy();
            scheduler.shutdown();
            Connections.close(connections);
        }
        return "";
    }

    /** The message of the release wakes who waits: one whose lease is 30 s would else try again after as much. */
    private String woken(String key) throws Exception {
        try (User alice = connect(); User bob = connect()) {
            Held held = alice.acquire(key, 30_000);
            var waiter = Check.inThread(() -> bob.acquire(key, 30_000).release());
            Thread.sleep(1_000); // long enough for the waiter to subscribe, if it can
            Check.that(!waiter.isDone(), "another owner got a held lock");
            long released = System.nanoTime();
            held.release();
            Check.that(Check.await(waiter), "release by the waiter");
            return "woken_after_ms=" + (System.nanoTime() - released) / 1_000_000;
        }
    }
}
