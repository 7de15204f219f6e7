package locks;

import static java.util.concurrent.TimeUnit.MILLISECONDS;
import static java.util.concurrent.TimeUnit.SECONDS;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import org.redisson.api.RSemaphore;

/** Cases of RSemaphore. */
final class Semaphores {
    private final LockSuite suite;

    Semaphores(LockSuite suite) {
        this.suite = suite;
    }

    void register() {
        suite.add("semaphore-permits", this::permits);
        suite.add("semaphore-waits-in-vain", this::waitsInVain);
        suite.add("semaphore-wakes", this::wakes);
        suite.add("semaphore-limit", this::limit);
    }

    static String channel(String name) {
        return "redisson_sc:{" + name + "}";
    }

    private String permits() throws Exception {
        RSemaphore one = suite.first.getSemaphore(suite.key("semaphore"));
        RSemaphore two = suite.second.getSemaphore(one.getName());
        Check.that(!one.tryAcquire(), "a permit of a semaphore that has none");
        Check.that(!one.releaseIfExists(1), "a permit was given back to a semaphore that is not there");
        Check.that(one.trySetPermits(5), "trySetPermits was refused");
        Check.that(!two.trySetPermits(9), "trySetPermits was granted twice");
        Check.that(one.tryAcquire(3) && two.tryAcquire(2), "five of five permits were refused");
        Check.that(!two.tryAcquire(), "a sixth permit of five");
        two.release(2);
        Check.that(!one.tryAcquire(3), "three permits of two");
        Check.equal(2, one.availablePermits(), "available permits");
        two.addPermits(4);
        Check.equal(6, two.drainPermits(), "drained permits");
        Check.equal(0, one.availablePermits(), "available permits after draining");
        Check.that(one.releaseIfExists(1), "a permit was not taken back");
        Check.that(one.tryAcquire(), "the permit that was taken back is refused");
        RSemaphore leased = suite.first.getSemaphore(suite.key("semaphore-ttl"));
        Check.that(leased.trySetPermits(1, Duration.ofSeconds(60)), "trySetPermits with a TTL was refused");
        Check.that(leased.tryAcquire(), "a free permit was refused");
        long ttl = leased.remainTimeToLive();
        Check.that(ttl > 50_000 && ttl <= 60_000, "TTL " + ttl + " ms");
        return "ttl_ms=" + ttl;
    }

    private String waitsInVain() throws Exception {
        RSemaphore semaphore = suite.first.getSemaphore(suite.key("semaphore-vain"));
        semaphore.trySetPermits(1);
        semaphore.acquire();
        long start = System.nanoTime();
        Check.that(!semaphore.tryAcquire(1, 400, MILLISECONDS), "a second permit of one");
        long waited = Check.elapsedMs(start);
        Check.that(waited >= 390 && waited < 5_000, "waited " + waited + " ms of 400");
        return "waited_ms=" + waited;
    }

    /** Permits that another client releases wake as many waiters as there are permits. */
    private String wakes() throws Exception {
        RSemaphore one = suite.first.getSemaphore(suite.key("semaphore-wakes"));
        RSemaphore two = suite.second.getSemaphore(one.getName());
        one.trySetPermits(3);
        one.acquire(3);
        AtomicInteger acquired = new AtomicInteger();
        List<CompletableFuture<Void>> waiters = new ArrayList<>();
        for (int i = 0; i < 3; i++) {
            waiters.add(Check.inThread(() -> {
                two.acquire();
                acquired.incrementAndGet();
                return null;
            }));
        }
        suite.awaitWaiter(channel(one.getName()), 1);
        one.release(2);
        Check.eventually("two of three waiters are woken", () -> acquired.get() == 2);
        Check.equal(0, one.availablePermits(), "available permits while one waits");
        one.release();
        for (CompletableFuture<Void> waiter : waiters) {
            Check.await(waiter);
        }
        return "waiters=3";
    }

    private String limit() throws Exception {
        int limit = 3;
        int threads = 8;
        int rounds = 10;
        String name = suite.key("semaphore-limit");
        suite.first.getSemaphore(name).trySetPermits(limit);
        AtomicInteger inside = new AtomicInteger();
        AtomicInteger most = new AtomicInteger();
        List<CompletableFuture<Void>> all = new ArrayList<>();
        for (int i = 0; i < threads; i++) {
            RSemaphore semaphore = (i % 2 == 0 ? suite.first : suite.second).getSemaphore(name);
            all.add(Check.inThread(() -> {
                for (int round = 0; round < rounds; round++) {
                    semaphore.acquire();
                    most.accumulateAndGet(inside.incrementAndGet(), Math::max);
                    Thread.sleep(2);
                    inside.decrementAndGet();
                    semaphore.release();
                }
                return null;
            }));
        }
        for (CompletableFuture<Void> thread : all) {
            thread.get(60, SECONDS);
        }
        Check.equal(limit, most.get(), "most users at once");
        Check.equal(limit, suite.second.getSemaphore(name).availablePermits(), "available permits at last");
        return "grants=" + threads * rounds;
    }
}
