package locks;

import static java.util.concurrent.TimeUnit.MILLISECONDS;
import static java.util.concurrent.TimeUnit.SECONDS;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;

/** Cases of RLock. */
final class PlainLocks {
    private final LockSuite suite;

    PlainLocks(LockSuite suite) {
        this.suite = suite;
    }

    void register() {
        suite.add("lock-watchdog", this::watchdog);
        suite.add("lock-watchdog-many", this::watchdogOfManyLocks);
        suite.add("lock-dead-owner", this::deadOwner);
        suite.add("lock-lease-expires", this::leaseExpires);
        suite.add("trylock-no-wait", this::tryLockWithoutWait);
        suite.add("trylock-wait-in-vain", this::tryLockWaitsInVain);
        suite.add("trylock-wait-woken", this::tryLockIsWoken);
        suite.add("lock-reentrant", this::reentrancy);
        suite.add("lock-force-unlock", this::forcedUnlock);
        suite.add("lock-not-owner", this::notOwner);
        suite.add("lock-script-flush", this::scriptFlush);
    }

    private String watchdog() throws Exception {
        RLock held = suite.first.getLock(suite.key("watchdog"));
        RLock other = suite.second.getLock(held.getName());
        held.lock();
        LockSuite.Observation seen = LockSuite.observe(other, 3);
        Check.that(!other.tryLock(), "another owner got a held lock");
        held.unlock();
        Check.that(!other.isLocked(), "locked after its unlock");
        Check.that(other.tryLock(), "not free after its unlock");
        other.unlock();
        return "renewals=" + seen.renewals() + " lowest_ttl_ms=" + seen.lowestMs();
    }

    /** One renewal script carries the keys of many unrelated locks. */
    private String watchdogOfManyLocks() throws Exception {
        List<RLock> held = new ArrayList<>();
        for (int i = 0; i < 12; i++) {
            held.add(suite.first.getLock(suite.key("many-" + i)));
        }
        held.forEach(RLock::lock);
        held.get(11).unlock();
        LockSuite.observe(suite.second.getLock(suite.key("many-0")), 2);
        for (RLock lock : held.subList(0, 11)) {
            long ttl = lock.remainTimeToLive();
            Check.that(ttl > 0 && ttl <= LockSuite.WATCHDOG_MS, lock.getName() + " has TTL " + ttl);
            lock.unlock();
        }
        Check.that(!held.get(11).isLocked(), "a lock that was unlocked is renewed");
        return "locks=11";
    }

    private String deadOwner() throws Exception {
        RedissonClient dying = suite.options.connect(LockSuite.WATCHDOG_MS);
        String name = suite.key("dead-owner");
        dying.getLock(name).lock();
        dying.shutdown();
        long start = System.nanoTime();
        RLock lock = suite.second.getLock(name);
        Check.that(lock.tryLock(Check.PATIENCE_MS, MILLISECONDS), "not free although its owner is gone");
        long waited = Check.elapsedMs(start);
        lock.unlock();
        Check.that(waited <= LockSuite.WATCHDOG_MS + 2_000, "free only after " + waited + " ms");
        return "free_after_ms=" + waited;
    }

    private String leaseExpires() throws Exception {
        RLock held = suite.first.getLock(suite.key("lease"));
        RLock other = suite.second.getLock(held.getName());
        long start = System.nanoTime();
        held.lock(1, SECONDS);
        long ttl = other.remainTimeToLive();
        Check.that(ttl > 0 && ttl <= 1_000, "TTL of a lease of 1 s is " + ttl + " ms");
        other.lock(30, SECONDS);
        long waited = Check.elapsedMs(start);
        Check.that(waited >= 1_000, "another owner got the lock after " + waited + " ms of a lease of 1 s");
        Check.that(waited < 5_000, "the lease of 1 s ended only after " + waited + " ms");
        Check.rejects(IllegalMonitorStateException.class, "unlock after the lease", () -> unlock(held));
        Check.that(other.isHeldByCurrentThread(), "the former owner's unlock took the lock away");
        other.unlock();
        return "next_owner_after_ms=" + waited;
    }

    private String tryLockWithoutWait() throws Exception {
        RLock held = suite.first.getLock(suite.key("no-wait"));
        RLock other = suite.second.getLock(held.getName());
        Check.that(held.tryLock(), "a free lock was refused");
        long start = System.nanoTime();
        Check.that(!other.tryLock(), "another client got a held lock");
        Check.that(!Check.elsewhere(held::tryLock), "another thread got a held lock");
        long refused = Check.elapsedMs(start);
        Check.that(refused < 2_000, "a refusal without wait took " + refused + " ms");
        held.unlock();
        Check.that(other.tryLock(), "a free lock was refused");
        other.unlock();
        return "refused_in_ms=" + refused;
    }

    private String tryLockWaitsInVain() throws Exception {
        RLock held = suite.first.getLock(suite.key("in-vain"));
        held.lock(30, SECONDS);
        long start = System.nanoTime();
        boolean got = suite.second.getLock(held.getName()).tryLock(500, 30_000, MILLISECONDS);
        long waited = Check.elapsedMs(start);
        Check.that(!got, "another client got a held lock");
        // Redisson reckons in whole milliseconds of the wall clock, so it may stop one early.
        Check.that(waited >= 499 && waited < 5_000, "waited " + waited + " ms instead of 500");
        held.unlock();
        return "waited_ms=" + waited;
    }

    private String tryLockIsWoken() throws Exception {
        RLock held = suite.first.getLock(suite.key("woken"));
        RLock other = suite.second.getLock(held.getName());
        held.lock(30, SECONDS);
        CompletableFuture<Boolean> waiter = Check.inThread(() -> {
            boolean got = other.tryLock(Check.PATIENCE_MS, 30_000, MILLISECONDS);
            other.unlock();
            return got;
        });
        suite.awaitWaiter(LockSuite.lockChannel(held.getName()), 1);
        long start = System.nanoTime();
        held.unlock();
        Check.that(Check.await(waiter), "the waiter gave up");
        return "woken_in_ms=" + Check.elapsedMs(start);
    }

    private String reentrancy() throws Exception {
        RLock lock = suite.first.getLock(suite.key("reentrant"));
        RLock other = suite.second.getLock(lock.getName());
        for (int count = 1; count <= 3; count++) {
            lock.lock();
            Check.equal(count, lock.getHoldCount(), "hold count after lock");
        }
        for (int count = 2; count >= 0; count--) {
            Check.that(!other.tryLock(), "another client got the lock before its last unlock");
            lock.unlock();
            Check.equal(count, lock.getHoldCount(), "hold count after unlock");
        }
        Check.that(other.tryLock(), "not free after the last unlock");
        other.unlock();
        return "holds=3";
    }

    private String forcedUnlock() throws Exception {
        RLock held = suite.first.getLock(suite.key("forced"));
        RLock other = suite.second.getLock(held.getName());
        held.lock(30, SECONDS);
        CompletableFuture<Boolean> waiter = Check.inThread(() -> {
            other.lock(30, SECONDS);
            return true;
        });
        suite.awaitWaiter(LockSuite.lockChannel(held.getName()), 1);
        Check.that(suite.first.getLock(held.getName()).forceUnlock(), "forceUnlock found no lock");
        Check.await(waiter);
        Check.rejects(IllegalMonitorStateException.class, "the former owner's unlock", () -> unlock(held));
        Check.that(other.isLocked(), "the former owner's unlock took the lock away");
        Check.that(other.forceUnlock(), "forceUnlock found no lock");
        Check.that(!other.forceUnlock(), "forceUnlock of a free lock claims success");
        return "waiter woken, former owner refused";
    }

    private String notOwner() throws Exception {
        RLock lock = suite.first.getLock(suite.key("not-owner"));
        RLock other = suite.second.getLock(lock.getName());
        lock.lock();
        Check.rejects(IllegalMonitorStateException.class, "another client's unlock", () -> unlock(other));
        Check.rejects(IllegalMonitorStateException.class, "another thread's unlock",
            () -> Check.elsewhere(() -> unlock(lock)));
        Check.that(lock.isHeldByCurrentThread(), "lost to a stranger's unlock");
        Check.that(!other.isHeldByCurrentThread(), "a stranger counts as owner");
        lock.unlock();
        Check.rejects(IllegalMonitorStateException.class, "a second unlock", () -> unlock(lock));
        return "";
    }

    /** Redisson sends EVALSHA and must learn by NOSCRIPT that the server has forgotten its scripts. */
    private String scriptFlush() throws Exception {
        RLock lock = suite.first.getLock(suite.key("flush"));
        lock.lock();
        suite.first.getScript().scriptFlush();
        lock.lock();
        suite.second.getScript().scriptFlush();
        lock.unlock();
        lock.unlock();
        Check.that(!lock.isLocked(), "still locked");
        return "";
    }

    static Void unlock(RLock lock) {
        lock.unlock();
        return null;
    }
}
