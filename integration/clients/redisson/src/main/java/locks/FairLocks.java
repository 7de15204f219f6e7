package locks;

import static java.util.concurrent.TimeUnit.MILLISECONDS;
import static java.util.concurrent.TimeUnit.SECONDS;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import org.redisson.api.RList;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;
import org.redisson.client.codec.StringCodec;

/** Cases of RFairLock, whose waiters stand in a queue in the server: a list, with their deadlines in a sorted set. */
final class FairLocks {
    private final LockSuite suite;

    FairLocks(LockSuite suite) {
        this.suite = suite;
    }

    void register() {
        suite.add("fair-queue-order", this::queueOrder);
        suite.add("fair-waiter-gives-up", this::waiterGivesUp);
        suite.add("fair-dead-waiter", this::deadWaiter);
        suite.add("fair-watchdog-reentrant", this::watchdogAndReentrancy);
        suite.add("fair-lease-and-force", this::leaseAndForce);
        suite.add("fair-exclusion", this::exclusion);
        suite.add("fair-non-reentrant", this::nonReentrant);
    }

    private RList<String> queue(String name) {
        return suite.first.getList("redisson_lock_queue:{" + name + "}", StringCodec.INSTANCE);
    }

    private void awaitQueued(String name, int waiters) throws Exception {
        Check.eventually(waiters + " waiters in the queue", () -> queue(name).size() == waiters);
    }

    /** Waiters of two clients get the lock in the order in which they came. */
    private String queueOrder() throws Exception {
        String name = suite.key("fair-order");
        RLock held = suite.first.getFairLock(name);
        held.lock(60, SECONDS);
        List<Integer> order = Collections.synchronizedList(new ArrayList<>());
        List<CompletableFuture<Boolean>> waiters = new ArrayList<>();
        for (int i = 0; i < 6; i++) {
            int number = i;
            RLock lock = (i % 2 == 0 ? suite.second : suite.first).getFairLock(name);
            waiters.add(Check.inThread(() -> {
                lock.lock(60, SECONDS);
                order.add(number);
                lock.unlock();
                return true;
            }));
            awaitQueued(name, i + 1);
        }
        Check.that(order.isEmpty(), "a waiter got a held lock");
        held.unlock();
        for (CompletableFuture<Boolean> waiter : waiters) {
            Check.await(waiter);
        }
        Check.equal(List.of(0, 1, 2, 3, 4, 5), order, "order of grants");
        Check.equal(0, queue(name).size(), "waiters left in the queue");
        return "waiters=6";
    }

    /** Who gives up leaves the queue, and does not hold up those behind. */
    private String waiterGivesUp() throws Exception {
        String name = suite.key("fair-gives-up");
        RLock held = suite.first.getFairLock(name);
        held.lock(60, SECONDS);
        CompletableFuture<Boolean> impatient = Check.inThread(
            () -> suite.second.getFairLock(name).tryLock(800, 60_000, MILLISECONDS));
        awaitQueued(name, 1);
        CompletableFuture<Boolean> patient = Check.inThread(() -> lockAndUnlock(suite.second.getFairLock(name)));
        awaitQueued(name, 2);
        Check.that(!Check.await(impatient), "a waiter got a held lock");
        awaitQueued(name, 1);
        long start = System.nanoTime();
        held.unlock();
        Check.that(Check.await(patient), "the waiter behind was not woken");
        return "woken_after_ms=" + Check.elapsedMs(start);
    }

    private static boolean lockAndUnlock(RLock lock) {
        lock.lock(60, SECONDS);
        lock.unlock();
        return true;
    }

    /** The place of a waiter whose client is gone is void when its deadline has passed. */
    private String deadWaiter() throws Exception {
        String name = suite.key("fair-dead");
        RedissonClient dying = suite.options.connect(LockSuite.WATCHDOG_MS, config -> config.setFairLockWaitTimeout(4_000));
        RLock held = suite.first.getFairLock(name);
        held.lock();
        CompletableFuture<Boolean> dead = Check.inThread(() -> lockAndUnlock(dying.getFairLock(name)));
        awaitQueued(name, 1);
        CompletableFuture<Boolean> alive = Check.inThread(() -> lockAndUnlock(suite.second.getFairLock(name)));
        awaitQueued(name, 2);
        dying.shutdown();
        Check.equal(2, queue(name).size(), "waiters in the queue after one has died");
        long start = System.nanoTime();
        held.unlock();
        Check.that(alive.get(30, SECONDS), "the waiter behind the dead one was not woken");
        long waited = Check.elapsedMs(start);
        Check.that(waited < 15_000, "a dead waiter was skipped only after " + waited + " ms");
        Check.that(!dead.isDone() || dead.isCompletedExceptionally(), "the dead waiter got the lock");
        return "skipped_after_ms=" + waited;
    }

    private String watchdogAndReentrancy() throws Exception {
        RLock lock = suite.first.getFairLock(suite.key("fair-watchdog"));
        RLock other = suite.second.getFairLock(lock.getName());
        lock.lock();
        lock.lock();
        Check.equal(2, lock.getHoldCount(), "hold count");
        LockSuite.Observation seen = LockSuite.observe(other, 2);
        lock.unlock();
        Check.that(!other.tryLock(), "another client got a held lock");
        lock.unlock();
        Check.that(other.tryLock(), "a free lock was refused");
        Check.rejects(IllegalMonitorStateException.class, "another client's unlock", () -> PlainLocks.unlock(lock));
        other.unlock();
        return "renewals=" + seen.renewals();
    }

    private String leaseAndForce() throws Exception {
        RLock lock = suite.first.getFairLock(suite.key("fair-lease"));
        RLock other = suite.second.getFairLock(lock.getName());
        long start = System.nanoTime();
        lock.lock(1, SECONDS);
        other.lock(60, SECONDS);
        long waited = Check.elapsedMs(start);
        Check.that(waited >= 1_000 && waited < 6_000, "a lease of 1 s ended after " + waited + " ms");
        Check.rejects(IllegalMonitorStateException.class, "unlock after the lease", () -> PlainLocks.unlock(lock));
        CompletableFuture<Boolean> waiter = Check.inThread(() -> lockAndUnlock(suite.first.getFairLock(lock.getName())));
        awaitQueued(lock.getName(), 1);
        Check.that(lock.forceUnlock(), "forceUnlock found no lock");
        Check.that(Check.await(waiter), "the waiter was not woken");
        return "next_owner_after_ms=" + waited;
    }

    private String exclusion() throws Exception {
        String name = suite.key("fair-exclusion");
        int threads = 6;
        int rounds = 10;
        AtomicInteger inside = new AtomicInteger();
        int[] counter = new int[1];
        List<CompletableFuture<Void>> all = new ArrayList<>();
        for (int i = 0; i < threads; i++) {
            RLock lock = (i % 2 == 0 ? suite.first : suite.second).getFairLock(name);
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

    private String nonReentrant() throws Exception {
        RLock lock = suite.first.getNonReentrantFairLock(suite.key("fair-non-reentrant"));
        lock.lock();
        Check.rejects(IllegalMonitorStateException.class, "a second lock", () -> {
            lock.lock();
            return null;
        });
        lock.unlock();
        Check.that(!lock.isLocked(), "still locked");
        return "";
    }
}
