package locks;

import static java.util.concurrent.TimeUnit.MILLISECONDS;
import static java.util.concurrent.TimeUnit.SECONDS;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import org.redisson.api.RFencedLock;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;

/** Cases of RFencedLock, RSpinLock and the lock that refuses re-entry. */
final class OtherLocks {
    private final LockSuite suite;

    OtherLocks(LockSuite suite) {
        this.suite = suite;
    }

    void register() {
        suite.add("fenced-tokens-increase", this::fencedTokens);
        suite.add("fenced-waiter", this::fencedWaiter);
        suite.add("fenced-watchdog", this::fencedWatchdog);
        suite.add("spin-exclusion", this::spinExclusion);
        suite.add("spin-lease-and-owner", this::spinLease);
        suite.add("non-reentrant", this::nonReentrant);
    }

    private String fencedTokens() throws Exception {
        String name = suite.key("fenced");
        List<RFencedLock> locks = List.of(suite.first.getFencedLock(name), suite.second.getFencedLock(name));
        long last = 0;
        for (int i = 0; i < 20; i++) {
            RFencedLock lock = locks.get(i % 2);
            RFencedLock other = locks.get((i + 1) % 2);
            Long token = i % 4 < 2 ? lock.lockAndGetToken() : lock.tryLockAndGetToken(0, 30, SECONDS);
            Check.that(token != null && token > last, "token " + token + " after " + last);
            Check.equal(token, other.getToken(), "token that another client reads");
            // Without a wait time tryLockAndGetToken waits for ever, as lockAndGetToken does.
            Check.that(other.tryLockAndGetToken(0, SECONDS) == null, "a held lock gave a token");
            last = token;
            lock.unlock();
        }
        return "last_token=" + last;
    }

    /** The token of a waiter, and of an owner after an expired lease, is above the former owner's. */
    private String fencedWaiter() throws Exception {
        RFencedLock held = suite.first.getFencedLock(suite.key("fenced-waiter"));
        RFencedLock other = suite.second.getFencedLock(held.getName());
        long token = held.lockAndGetToken();
        CompletableFuture<Long> waiter = Check.inThread(
            () -> other.tryLockAndGetToken(Check.PATIENCE_MS, 800, MILLISECONDS));
        suite.awaitWaiter(LockSuite.lockChannel(held.getName()), 1);
        held.unlock();
        long afterWait = Check.await(waiter);
        long afterLease = held.lockAndGetToken();
        held.unlock();
        Check.that(token < afterWait && afterWait < afterLease,
            "tokens " + token + ", " + afterWait + ", " + afterLease + " do not increase");
        return "tokens=" + token + "," + afterWait + "," + afterLease;
    }

    private String fencedWatchdog() throws Exception {
        RFencedLock lock = suite.first.getFencedLock(suite.key("fenced-watchdog"));
        long token = lock.lockAndGetToken();
        LockSuite.Observation seen = LockSuite.observe(suite.second.getFencedLock(lock.getName()), 2);
        Check.equal(token, lock.getToken(), "token after renewals");
        lock.unlock();
        return "renewals=" + seen.renewals();
    }

    private String spinExclusion() throws Exception {
        String name = suite.key("spin");
        int threads = 6;
        int rounds = 20;
        AtomicInteger inside = new AtomicInteger();
        int[] counter = new int[1];
        List<CompletableFuture<Void>> all = new ArrayList<>();
        for (int i = 0; i < threads; i++) {
            RedissonClient client = i % 2 == 0 ? suite.first : suite.second;
            RLock lock = client.getSpinLock(name);
            all.add(Check.inThread(() -> {
                for (int round = 0; round < rounds; round++) {
                    lock.lock(30, SECONDS);
                    Check.equal(1, inside.incrementAndGet(), "owners inside");
                    counter[0]++;
                    inside.decrementAndGet();
                    lock.unlock();
                }
                return null;
            }));
        }
        for (CompletableFuture<Void> thread : all) {
            thread.get(60, SECONDS);
        }
        Check.equal(threads * rounds, counter[0], "counter");
        return "grants=" + counter[0];
    }

    private String spinLease() throws Exception {
        RLock lock = suite.first.getSpinLock(suite.key("spin-lease"));
        RLock other = suite.second.getSpinLock(lock.getName());
        lock.lock(1, SECONDS);
        lock.lock(1, SECONDS);
        Check.equal(2, lock.getHoldCount(), "hold count");
        Check.that(!other.tryLock(), "another client got a held lock");
        long start = System.nanoTime();
        other.lock(30, SECONDS);
        long waited = Check.elapsedMs(start);
        Check.that(waited < 5_000, "the lease of 1 s ended only after " + waited + " ms");
        Check.rejects(IllegalMonitorStateException.class, "unlock after the lease", () -> PlainLocks.unlock(lock));
        other.unlock();
        Check.that(!lock.isLocked(), "still locked");
        return "next_owner_after_ms=" + waited;
    }

    private String nonReentrant() throws Exception {
        RLock lock = suite.first.getNonReentrantLock(suite.key("non-reentrant"));
        lock.lock();
        // The server refuses by an error reply of the script, which Redisson knows by its text.
        Check.rejects(IllegalMonitorStateException.class, "a second lock", () -> {
            lock.lock();
            return null;
        });
        lock.unlock();
        Check.that(!lock.isLocked(), "still locked");
        return "";
    }
}
