package locks;

import static java.util.concurrent.TimeUnit.SECONDS;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentSkipListSet;
import org.redisson.api.RAtomicLong;
import org.redisson.api.RIdGenerator;
import org.redisson.api.RRateLimiter;
import org.redisson.api.RateType;
import org.redisson.api.RedissonClient;

/** Cases of RRateLimiter, RIdGenerator and RAtomicLong. */
final class Numbers {
    private static final int THREADS = 6;
    private static final int ROUNDS = 40;

    private final LockSuite suite;

    Numbers(LockSuite suite) {
        this.suite = suite;
    }

    void register() {
        suite.add("rate-overall", this::rateOverall);
        suite.add("rate-per-client", this::ratePerClient);
        suite.add("id-generator", this::ids);
        suite.add("atomic-long", this::atomicLong);
    }

    /** Two clients share the permits of an interval; the next interval has new ones. */
    private String rateOverall() throws Exception {
        RRateLimiter one = suite.first.getRateLimiter(suite.key("rate"));
        RRateLimiter two = suite.second.getRateLimiter(one.getName());
        Check.that(one.trySetRate(RateType.OVERALL, 6, Duration.ofSeconds(3)), "trySetRate was refused");
        Check.that(!two.trySetRate(RateType.OVERALL, 100, Duration.ofSeconds(1)), "trySetRate was granted twice");
        Check.equal(6L, two.getConfig().getRate(), "rate");
        long start = System.nanoTime();
        Check.that(one.tryAcquire(4) && two.tryAcquire() && one.tryAcquire(), "six of six permits were refused");
        Check.that(!two.tryAcquire() && !one.tryAcquire(), "a seventh permit of six");
        Check.equal(0L, one.availablePermits(), "available permits");
        two.acquire(6);
        long waited = Check.elapsedMs(start);
        Check.that(waited >= 2_900 && waited < 10_000, "permits of the next interval after " + waited + " ms of 3000");
        return "next_permits_after_ms=" + waited;
    }

    private String ratePerClient() throws Exception {
        String name = suite.key("rate-per-client");
        suite.first.getRateLimiter(name).trySetRate(RateType.PER_CLIENT, 2, Duration.ofSeconds(60));
        for (RedissonClient client : List.of(suite.first, suite.second)) {
            RRateLimiter limiter = client.getRateLimiter(name);
            Check.that(limiter.tryAcquire() && limiter.tryAcquire(), "two of two permits were refused");
            Check.that(!limiter.tryAcquire(), "a third permit of two");
        }
        return "";
    }

    private interface Step {
        void run(RedissonClient client);
    }

    private void inManyThreads(Step step) throws Exception {
        List<CompletableFuture<Void>> all = new ArrayList<>();
        for (int i = 0; i < THREADS; i++) {
            RedissonClient client = i % 2 == 0 ? suite.first : suite.second;
            all.add(Check.inThread(() -> {
                for (int round = 0; round < ROUNDS; round++) {
                    step.run(client);
                }
                return null;
            }));
        }
        for (CompletableFuture<Void> thread : all) {
            thread.get(60, SECONDS);
        }
    }

    private String ids() throws Exception {
        String name = suite.key("ids");
        RIdGenerator generator = suite.first.getIdGenerator(name);
        Check.that(generator.tryInit(1_000, 7), "tryInit was refused");
        Check.that(!suite.second.getIdGenerator(name).tryInit(5, 5), "tryInit was granted twice");
        Set<Long> ids = new ConcurrentSkipListSet<>();
        inManyThreads(client -> Check.that(ids.add(client.getIdGenerator(name).nextId()), "an id came twice"));
        Check.equal(THREADS * ROUNDS, ids.size(), "ids");
        Check.that(ids.stream().allMatch(id -> id >= 1_000), "an id below the first");
        return "ids=" + ids.size();
    }

    private String atomicLong() throws Exception {
        RAtomicLong one = suite.first.getAtomicLong(suite.key("atomic"));
        RAtomicLong two = suite.second.getAtomicLong(one.getName());
        inManyThreads(client -> client.getAtomicLong(one.getName()).incrementAndGet());
        Check.equal((long) THREADS * ROUNDS, two.get(), "count");
        Check.that(!one.compareAndSet(1, 2), "compareAndSet of another value");
        Check.that(one.compareAndSet(THREADS * ROUNDS, 7), "compareAndSet was refused");
        Check.equal(7L, two.getAndAdd(3), "value before adding");
        Check.equal(10L, one.getAndSet(-1), "value before setting");
        Check.equal(-2L, two.decrementAndGet(), "value after decrementing");
        Check.equal(-2L, two.getAndDelete(), "value before deleting");
        Check.equal(0L, one.get(), "value after deleting");
        return "";
    }
}
